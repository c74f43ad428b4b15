import { type Column, countOf } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type LoadCounts, type LoadResult, loadParts, runLoad } from '../../protocol/load.js'
import {
  type IndexDefinition,
  type InsertMode,
  keyWidth,
  MODE_OPS,
  payloadBytes,
} from '../../protocol/types.js'
import type { WriteItems } from '../../protocol/write-pieces.js'
import type { IndexWrite, LoadPart } from './index-requests.js'

/** Rows to load, in columns: a payload for each key. They must not be changed before the load is over. */
export interface LoadBatch {
  readonly keys: Column
  readonly payloads: Column
}

/** Batches of any size, in the order in which their rows count. */
export type LoadSource = LoadBatch | Iterable<LoadBatch> | AsyncIterable<LoadBatch>

export interface LoadOptions {
  /** What becomes of payloads that a key has; by default they stay. */
  readonly mode?: InsertMode | undefined
  /** Rows of a chunk, `loadItems` by default and at most. */
  readonly chunkRows?: number | undefined
  /** Told of all that is durable so far, after each chunk. */
  readonly onProgress?: ((stored: LoadResult) => void) | undefined
  /** Aborting it ends the load with `CANCELLED`, once the chunks that are under way are stored. */
  readonly signal?: AbortSignal | undefined
}

/** Chunks that are under way: one on its way to the disk, one on the device, and one that waits. */
const CHUNKS_UNDER_WAY = 3

/** An index that takes parts of a load. */
interface LoadableIndex {
  readonly definition: IndexDefinition
  load(columns: IndexWrite, load: LoadPart): Promise<LoadCounts>
}

/** As `Index.bulkLoad`. */
export function bulkLoad(
  index: LoadableIndex,
  source: LoadSource,
  options: LoadOptions,
): Promise<LoadResult> {
  const { loadItems, loadBytes } = LIMITS
  const limits = {
    rows: Math.max(1, Math.min(options.chunkRows ?? loadItems, loadItems)),
    bytes: loadBytes,
  }
  const ops = MODE_OPS[options.mode ?? 'append']
  const course = { failed: false }
  return runLoad({
    ...options,
    parts: loadParts(items(source, index.definition), limits),
    share: () => 1 / CHUNKS_UNDER_WAY,
    send: ({ keys, payloads }) => index.load({ ops, keys, payloads }, { course }),
  })
}

async function* items(source: LoadSource, definition: IndexDefinition): AsyncGenerator<WriteItems> {
  const { keyType, payloadKind } = definition
  for await (const batch of 'payloads' in source ? [source] : source) {
    requireWidth(batch.keys, keyWidth(keyType), `${keyType} keys`)
    requireWidth(batch.payloads, payloadBytes(payloadKind), `${payloadKind} payloads`)
    const count = countOf(batch.keys)
    const found = countOf(batch.payloads)
    if (!Number.isInteger(count) || found !== count) {
      throw new WarpdexError('BAD_REQUEST', `${count} keys came with ${found} payloads; each needs one`)
    }
    yield batch
  }
}

function requireWidth({ width }: Column, right: number | undefined, what: string): void {
  if (width === right) return
  const said = (bytes: number | undefined) => (bytes === undefined ? 'offsets' : `${bytes} bytes each`)
  throw new WarpdexError('BAD_REQUEST', `the index has ${what}, with ${said(right)}, not ${said(width)}`)
}
