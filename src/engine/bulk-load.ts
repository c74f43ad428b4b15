import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type LoadCounts, type LoadResult, loadParts, runLoad } from '../../protocol/load.js'
import { type Rows, rowCount } from '../../protocol/rows.js'
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
  readonly keys: Uint8Array
  /** For keys of variable length only: key i is bytes keyOffsets[i] to keyOffsets[i + 1]. */
  readonly keyOffsets?: Uint32Array | undefined
  readonly payloads: Rows
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
  const { definition } = index
  const widths = { keys: keyWidth(definition.keyType), payloads: payloadBytes(definition.payloadKind) }
  const { loadItems, loadBytes } = LIMITS
  const limits = {
    rows: Math.max(1, Math.min(options.chunkRows ?? loadItems, loadItems)),
    bytes: loadBytes,
  }
  const ops = MODE_OPS[options.mode ?? 'append']
  const course = { failed: false }
  return runLoad({
    ...options,
    parts: loadParts(items(source, definition), widths, limits),
    share: () => 1 / CHUNKS_UNDER_WAY,
    send: ({ keys, payloads }) => {
      const column = payloads && { bytes: payloads.bytes, offsets: payloads.offsets }
      return index.load({ ops, keys: keys.bytes, keyOffsets: keys.offsets, payloads: column }, { course })
    },
  })
}

async function* items(source: LoadSource, definition: IndexDefinition): AsyncGenerator<WriteItems> {
  for await (const { keys, keyOffsets, payloads } of 'payloads' in source ? [source] : source) {
    const batch = { keys: { bytes: keys, offsets: keyOffsets }, payloads }
    const count = rowCount(batch.keys, keyWidth(definition.keyType))
    const found = rowCount(payloads, payloadBytes(definition.payloadKind))
    if (!Number.isInteger(count) || found !== count) {
      throw new WarpdexError('BAD_REQUEST', `${count} keys came with ${found} payloads; each needs one`)
    }
    yield batch
  }
}
