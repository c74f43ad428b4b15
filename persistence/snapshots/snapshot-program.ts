// The program of the thread for snapshots, see `snapshot-thread.ts`.
import { type MessagePort, parentPort } from 'node:worker_threads'
import { type ErrorCode, toWarpdexError } from '../../protocol/errors.js'
import { type SnapshotIdentity, type SnapshotPart, writeDraft } from './snapshot-file.js'

/** A snapshot to write. */
export interface SnapshotJob {
  /** Its parts come over this. */
  readonly port: MessagePort
  readonly path: string
  readonly identity: SnapshotIdentity
  readonly meta: unknown
}

/** Asks for the next step of the parts, or says what became of the snapshot. */
export type FromSnapshotProgram =
  | { readonly kind: 'next' }
  | { readonly kind: 'written'; readonly bytes: number }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }

/** A step: the next part begins, a chunk of it, all parts are over, or one of them failed. */
export type ToSnapshotProgram =
  | { readonly kind: 'part'; readonly name: string }
  | { readonly kind: 'chunk'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'failed' }

parentPort?.on('message', (job: SnapshotJob) => void run(job))

async function run({ port, path, identity, meta }: SnapshotJob): Promise<void> {
  const tell = (message: FromSnapshotProgram) => port.postMessage(message)
  try {
    const bytes = await writeDraft(path, identity, meta, partsOf(stepsFrom(port)))
    tell({ kind: 'written', bytes })
  } catch (thrown) {
    const { code, message } = toWarpdexError(thrown)
    tell({ kind: 'failed', code, message })
  }
}

/** The parts are to be gone through one after the other, each to its end. */
async function* partsOf(ask: () => Promise<ToSnapshotProgram>): AsyncGenerator<SnapshotPart> {
  let step = await ask()
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (step = await ask(); step.kind === 'chunk'; step = await ask()) yield step.bytes
  }
  while (step.kind === 'part') yield { name: step.name, chunks: chunks() }
  if (step.kind === 'failed') throw new Error('a part could not be read')
}

/** Asks for one step at a time. */
function stepsFrom(port: MessagePort): () => Promise<ToSnapshotProgram> {
  let waiting: Waiting | undefined
  let closed: Error | undefined
  port.on('message', (step: ToSnapshotProgram) => waiting?.resolve(step))
  port.on('messageerror', (error) => waiting?.reject(error))
  port.on('close', () => {
    closed = new Error('nobody waits for the snapshot any more')
    waiting?.reject(closed)
  })
  return () =>
    new Promise((resolve, reject) => {
      if (closed !== undefined) return reject(closed)
      waiting = { resolve, reject }
      const message: FromSnapshotProgram = { kind: 'next' }
      port.postMessage(message)
    })
}

interface Waiting {
  readonly resolve: (step: ToSnapshotProgram) => void
  readonly reject: (error: Error) => void
}
