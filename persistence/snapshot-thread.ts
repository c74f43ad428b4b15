import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { WarpdexError } from '../protocol/errors.js'
import { fileError } from './disk-error.js'
import type { SnapshotIdentity, SnapshotParts } from './snapshot-file.js'
import type { FromSnapshotProgram, SnapshotJob, ToSnapshotProgram } from './snapshot-program.js'

/**
 * A thread that writes snapshots: it makes their checksums, and reads and checks what was written. For an index of gigabytes that is seconds of
 * work, in which the caller's thread answers requests.
 */
export class SnapshotThread {
  readonly #worker: Worker
  #ended = false

  /** @param onFailure told, in words for people, when it ends before it is stopped */
  constructor(onFailure: (message: string) => void) {
    this.#worker = new Worker(program(), { name: 'snapshots' })
    this.#worker.on('error', ({ message }) => onFailure(`the thread for snapshots failed: ${message}`))
    this.#worker.on('exit', () => {
      this.#ended = true
    })
  }

  /** Whether it is gone. */
  get ended(): boolean {
    return this.#ended
  }

  /**
   * As `writeDraft` of `snapshot-file.ts`; several at a time go on beside each other. A chunk in a SharedArrayBuffer is not copied.
   * @throws WarpdexError as there; `INTERNAL` when the thread ends
   */
  async writeDraft(
    path: string,
    identity: SnapshotIdentity,
    meta: unknown,
    parts: SnapshotParts,
  ): Promise<number> {
    const { port1, port2 } = new MessageChannel()
    const job: SnapshotJob = { port: port2, path, identity, meta }
    this.#worker.postMessage(job, [port2])
    try {
      return await serve(port1, path, parts)
    } finally {
      port1.close()
    }
  }

  /** Nothing may be under way. */
  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}

/** Hands parts to the program as it asks for them, until it says what became of the snapshot. */
function serve(port: MessagePort, path: string, parts: SnapshotParts): Promise<number> {
  const steps = stepsOf(parts)
  let thrown: { readonly error: unknown } | undefined
  const next = async (): Promise<ToSnapshotProgram> => {
    try {
      const { value, done } = await steps.next()
      return done === true ? { kind: 'end' } : value
    } catch (error) {
      thrown = { error }
      return { kind: 'failed' }
    }
  }
  return new Promise((resolve, reject) => {
    port.on('message', async (message: FromSnapshotProgram) => {
      if (message.kind === 'next') port.postMessage(await next())
      else if (message.kind === 'written') resolve(message.bytes)
      else {
        const { code, message: text } = message
        reject(thrown === undefined ? new WarpdexError(code, text) : fileError(thrown.error, path))
      }
    })
    port.on('close', () => {
      reject(new WarpdexError('INTERNAL', `${path} was not written, because the thread for snapshots ended`))
    })
  })
}

async function* stepsOf(parts: SnapshotParts): AsyncGenerator<ToSnapshotProgram> {
  for await (const { name, chunks } of parts) {
    yield { kind: 'part', name }
    for await (const bytes of chunks) yield { kind: 'chunk', bytes }
  }
}

function program(): URL {
  return new URL(`snapshot-program${extname(fileURLToPath(import.meta.url))}`, import.meta.url)
}
