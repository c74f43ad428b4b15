import { asBytes, type Column, countOf } from '../../protocol/columns.js'
import { badRequest, toWarpdexError, type WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import {
  type LoadCounts,
  LoadError,
  type LoadResult,
  loadParts,
  NO_ROWS,
  runLoad,
} from '../../protocol/load.js'
import { shown } from '../../protocol/shown.js'
import type { IndexDefinition, KeyType, PayloadKind } from '../../protocol/types.js'
import { itemBytes, type WriteItems } from '../../protocol/write-pieces.js'
import type { Bounds } from './call-options.js'
import { expiryColumn, type ManyExpiryOptions } from './expiry.js'
import type { IndexCalls } from './index-calls.js'
import { type Keys, keyColumn } from './keys.js'
import { type LoadOptions, MODES } from './options.js'
import { type PayloadsInput, payloadColumn } from './payload-column.js'
import { type Reply, readNumbers } from './reply.js'

/** Rows to load: a payload for each key, and when they expire. Columns must not be changed before the load is over. */
export interface LoadBatch<K extends KeyType = KeyType, P extends PayloadKind = PayloadKind>
  extends ManyExpiryOptions {
  readonly keys: Keys<K>
  readonly payloads: PayloadsInput<P>
}

/** Batches of any size, in the order in which their rows count. */
export type LoadSource<K extends KeyType = KeyType, P extends PayloadKind = PayloadKind> =
  | LoadBatch<K, P>
  | Iterable<LoadBatch<K, P>>
  | AsyncIterable<LoadBatch<K, P>>

/** A part's share of a load in a request: enough that a request's own cost does not count, few enough that several are under way. */
const PART_LIMITS = { rows: LIMITS.batchItems, bytes: 8 * 2 ** 20 }

/**
 * Bytes of parts that are under way: several of the server's chunks. With more, the server would stop reading from the connection, and
 * other requests would not get through.
 */
const BYTES_UNDER_WAY = LIMITS.bytesInFlight / 4
const PARTS_UNDER_WAY = LIMITS.requestsInFlight / 2

/** As `Index.bulkLoad`, as a part of a call that is under way. */
export async function bulkLoad(
  calls: IndexCalls,
  source: LoadSource,
  options: LoadOptions,
  bounds: Bounds,
): Promise<LoadResult> {
  const { connection } = calls
  const { ifExists = 'add', deadline, onProgress, signal } = options
  const definition = await calls.latest(bounds)
  let after: number | undefined
  try {
    return await runLoad({
      parts: loadParts(items(source, definition), PART_LIMITS),
      share: (part) => Math.max(itemBytes(part) / BYTES_UNDER_WAY, 1 / PARTS_UNDER_WAY),
      send: async (part) => {
        const writeId = connection.newWriteId()
        const behind = after === undefined ? undefined : wholeNumber(after)
        after = writeId
        const columns = { ...part, after: behind }
        const call = {
          op: 'load',
          mode: MODES[ifExists],
          writeId,
          count: countOf(part.keys),
          columns,
        } as const
        // The signal ends the load between its parts, so that it is known which ones are stored.
        const bounds = connection.bounds({ deadline }, true)
        return readCounts(await calls.goOn(definition, () => calls.request(definition, call, bounds)))
      },
      onProgress,
      signal,
    })
  } catch (thrown) {
    throw thrown instanceof LoadError && thrown.code === 'INDEX_CHANGED' ? inVain(thrown) : thrown
  }
}

function wholeNumber(value: number): Column {
  return { bytes: asBytes(BigUint64Array.of(BigInt(value))), width: 8 }
}

function readCounts(reply: Reply<'load'>): LoadCounts {
  const [rows, inserted, replaced, existing, refused] = readNumbers(
    [{ reply, asked: { count: 5 } }],
    'counts',
  )
  return { rows, inserted, replaced, existing, refused }
}

/** What was stored in an index that is no more has gone with it. */
function inVain({ cause, stored: { seconds } }: LoadError): LoadError {
  return new LoadError(toWarpdexError(cause), { ...NO_ROWS, seconds })
}

async function* items(source: LoadSource, definition: IndexDefinition): AsyncGenerator<WriteItems> {
  for await (const batch of batchesOf(source)) {
    if (!isBatch(batch)) throw noBatch(batch)
    const { keys, payloads, expireAt } = batch
    const column = keyColumn(keys, definition)
    const count = countOf(column)
    yield {
      keys: column,
      payloads: payloadColumn(payloads, definition, count),
      expireAt: expiryColumn(expireAt, count),
    }
  }
}

function batchesOf(source: LoadSource): Iterable<LoadBatch> | AsyncIterable<LoadBatch> {
  if (isBatch(source)) return [source]
  if (typeof source === 'object' && source !== null) {
    if (Symbol.iterator in source || Symbol.asyncIterator in source) return source
  }
  throw noBatch(source)
}

function isBatch(batch: LoadSource): batch is LoadBatch {
  return typeof batch === 'object' && batch !== null && 'keys' in batch && 'payloads' in batch
}

function noBatch(found: unknown): WarpdexError {
  const right = 'a batch {keys, payloads, expireAt?}, or an iterable of such batches'
  return badRequest(`bulkLoad takes ${right}, not ${shown(found)}`)
}
