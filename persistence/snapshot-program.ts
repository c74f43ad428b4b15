// The program of the thread for snapshots, see `snapshot-thread.ts`.
import { type MessagePort, parentPort } from 'node:worker_threads'
import { type ErrorCode, toWarpdexError } from '../protocol/errors.js'
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
    const bytes = await writeDraft(path, identity, meta, partsOf(port))
    tell({ kind: 'written', bytes })
  } catch (thrown) {
    const { code, message } = toWarpdexError(thrown)
    tell({ kind: 'failed', code, message })
  }
}

async function* partsOf(port: MessagePort): AsyncGenerator<SnapshotPart> {
  let step = await ask(port)
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (step = await ask(port); step.kind === 'chunk'; step = await ask(port)) yield step.bytes
  }
  while (step.kind === 'part') yield { name: step.name, chunks: chunks() }
  if (step.kind === 'failed') throw new Error('a part could not be read')
}

function ask(port: MessagePort): Promise<ToSnapshotProgram> {
  return new Promise((resolve) => {
    port.once('message', resolve)
    const message: FromSnapshotProgram = { kind: 'next' }
    port.postMessage(message)
  })
}
