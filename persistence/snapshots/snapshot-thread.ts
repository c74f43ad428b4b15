import { rm } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { WarpdexError } from '../../protocol/errors.js'
import { fileError } from '../disk/errors.js'
import { draftOf, piecesOf, type SnapshotIdentity, type SnapshotParts } from './snapshot-file.js'
import type { FromSnapshotProgram, SnapshotJob, ToSnapshotProgram } from './snapshot-program.js'

const END: ToSnapshotProgram = { kind: 'end' }
const FAILED: ToSnapshotProgram = { kind: 'failed' }

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
   * As `writeDraft` of `snapshot-file.ts`; several at a time go on beside each other. Chunks in a SharedArrayBuffer are not copied, others piece
   * by piece.
   * @throws WarpdexError as there; `INTERNAL` when the thread ends
   */
  async writeDraft(
    path: string,
    identity: SnapshotIdentity,
    meta: unknown,
    parts: SnapshotParts,
  ): Promise<number> {
    const { port1, port2 } = new MessageChannel()
    const steps = stepsOf(parts)
    try {
      const job: SnapshotJob = { port: port2, path, identity, meta }
      this.#worker.postMessage(job, [port2])
      return await serve(port1, steps)
    } catch (error) {
      // A program that was ended has left it.
      await rm(draftOf(path), { force: true })
      throw fileError(error, path)
    } finally {
      port1.close()
      // That is not waited for: what a part reads of a device that is lost may never come.
      void steps.return(undefined).catch(() => {})
    }
  }

  /** Nothing may be under way. */
  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}

/** Hands the program the steps that it asks for, until it says what became of the snapshot. */
function serve(port: MessagePort, steps: AsyncGenerator<ToSnapshotProgram>): Promise<number> {
  let thrown: { readonly error: unknown } | undefined
  const answer = async (): Promise<void> => {
    try {
      const { value, done } = await steps.next()
      port.postMessage(done === true ? END : value)
    } catch (error) {
      thrown = { error }
      port.postMessage(FAILED)
    }
  }
  return new Promise((resolve, reject) => {
    port.on('message', (message: FromSnapshotProgram) => {
      if (message.kind === 'next') void answer()
      else if (message.kind === 'written') resolve(message.bytes)
      else reject(thrown === undefined ? new WarpdexError(message.code, message.message) : thrown.error)
    })
    port.on('messageerror', reject)
    port.on('close', () => reject(new Error('the thread for snapshots ended')))
  })
}

async function* stepsOf(parts: SnapshotParts): AsyncGenerator<ToSnapshotProgram, undefined> {
  for await (const { name, chunks } of parts) {
    yield { kind: 'part', name }
    for await (const chunk of chunks) {
      if (chunk.buffer instanceof SharedArrayBuffer) yield { kind: 'chunk', bytes: chunk }
      // A view would be sent with all of the memory that it is part of, and in one go.
      else for (const piece of piecesOf(chunk)) yield { kind: 'chunk', bytes: new Uint8Array(piece) }
    }
  }
}

function program(): URL {
  return new URL(`snapshot-program${extname(fileURLToPath(import.meta.url))}`, import.meta.url)
}
