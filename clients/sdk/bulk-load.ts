import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type LoadCounts, type LoadResult, loadParts, runLoad } from '../../protocol/load.js'
import { INSERT_MODES, type InsertMode } from '../../protocol/messages.js'
import { rowCount } from '../../protocol/rows.js'
import { shown } from '../../protocol/shown.js'
import type { IndexDefinition, KeyType } from '../../protocol/types.js'
import { itemBytes, type WriteItems } from '../../protocol/write-pieces.js'
import { ANYTHING, CALLBACK, checkOptions, type Kinds, oneOf } from './check-options.js'
import { type Keys, keyColumn } from './keys.js'
import { CALL_OPTIONS, type CallOptions } from './options.js'
import { type PayloadsInput, payloadColumn } from './payload-column.js'
import { itemWidths } from './write-pieces.js'

/** Rows to load: a payload for each key. Columns must not be changed before the load is over. */
export interface LoadBatch<K extends KeyType = KeyType> {
  readonly keys: Keys<K>
  readonly payloads: PayloadsInput
}

/** Batches of any size, in the order in which their rows count. */
export type LoadSource<K extends KeyType = KeyType> =
  | LoadBatch<K>
  | Iterable<LoadBatch<K>>
  | AsyncIterable<LoadBatch<K>>

export interface LoadOptions extends CallOptions {
  /** What becomes of payloads that a key has; by default they stay. */
  readonly mode?: InsertMode | undefined
  /** Told of all that is durable so far, every few megabytes. What it throws ends the load. */
  readonly onProgress?: ((stored: LoadResult) => void) | undefined
  /** Milliseconds for each part of the load, a few megabytes, from sending it to its being durable. */
  readonly deadline?: number | undefined
  /** Aborting it ends the load with `CANCELLED`, once the parts that are under way are stored. */
  readonly signal?: AbortSignal | undefined
}

export const LOAD_OPTIONS: Kinds<LoadOptions> = {
  mode: oneOf(INSERT_MODES),
  onProgress: CALLBACK,
  ...CALL_OPTIONS,
}

const BATCH = 'a batch of bulkLoad'
const BATCH_FIELDS: Kinds<LoadBatch> = { keys: ANYTHING, payloads: ANYTHING }

/** A part's share of a load in a request: enough that a request's own cost does not count, few enough that several are under way. */
const PART_LIMITS = { rows: LIMITS.batchItems, bytes: 8 * 2 ** 20 }

/**
 * Bytes of parts that are under way: several of the server's chunks. With more, the server would stop reading from the connection, and
 * other requests would not get through.
 */
const BYTES_UNDER_WAY = LIMITS.bytesInFlight / 4
const PARTS_UNDER_WAY = LIMITS.requestsInFlight / 2

/** Stores a part, after the one before it. */
export type SendPart = (items: WriteItems) => Promise<LoadCounts>

/** As `Index.bulkLoad`. */
export function bulkLoad<K extends KeyType>(
  source: LoadSource<K>,
  definition: IndexDefinition,
  { mode: _mode, deadline: _deadline, ...options }: LoadOptions,
  send: SendPart,
): Promise<LoadResult> {
  const widths = itemWidths(definition)
  const bytesOf = (part: WriteItems) => itemBytes(part, widths, 0, rowCount(part.keys, widths.keys))
  return runLoad({
    ...options,
    parts: loadParts(items(source, definition), widths, PART_LIMITS),
    share: (part) => Math.max(bytesOf(part) / BYTES_UNDER_WAY, 1 / PARTS_UNDER_WAY),
    send,
  })
}

async function* items<K extends KeyType>(
  source: LoadSource<K>,
  definition: IndexDefinition,
): AsyncGenerator<WriteItems> {
  const widths = itemWidths(definition)
  for await (const batch of batchesOf(source)) {
    checkOptions(batch, BATCH_FIELDS, BATCH, 'field')
    const { keys, payloads } = batch
    const column = keyColumn(keys, definition)
    yield { keys: column, payloads: payloadColumn(payloads, definition, rowCount(column, widths.keys)) }
  }
}

function batchesOf<K extends KeyType>(
  source: LoadSource<K>,
): Iterable<LoadBatch<K>> | AsyncIterable<LoadBatch<K>> {
  if (typeof source === 'object' && source !== null) {
    if (Symbol.iterator in source || Symbol.asyncIterator in source) return source
    // Before the loop, which would wait for something with a method `then`.
    checkOptions(source, BATCH_FIELDS, BATCH, 'field')
    return [source]
  }
  throw new WarpdexError(
    'BAD_REQUEST',
    `bulkLoad takes a batch {keys, payloads}, or an iterable of such batches, not ${shown(source)}`,
  )
}
