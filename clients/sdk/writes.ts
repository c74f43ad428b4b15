import { type Column, concatenate, countOf } from '../../protocol/columns.js'
import { badRequest, toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type IndexDefinition, ResultCode, WriteOp } from '../../protocol/types.js'
import type { Bounds } from './call-options.js'
import { COLUMN_BYTES, cutCall, type DataCall } from './data-call.js'
import { expiryColumn, type ManyExpiryOptions } from './expiry.js'
import type { IndexCalls, KnownIndex } from './index-calls.js'
import { type AnyKeys, keyColumn } from './keys.js'
import { type PayloadsInput, payloadColumn } from './payload-column.js'
import { readBytes } from './reply.js'

/** Why a batch ended early that is sent in several requests. What was stored before stays. */
export class BatchError extends WarpdexError {
  /**
   * How many items are stored: the first ones of the batch and, unless the connection was lost, a deadline passed or a signal was aborted,
   * no others.
   */
  readonly stored: number
  /** A ResultCode for each of them. */
  readonly codes: Uint8Array

  constructor(reason: WarpdexError, codes: Uint8Array) {
    super(reason.code, `${reason.message}; the first ${codes.length} items of the batch are stored`, {
      cause: reason,
    })
    this.name = 'BatchError'
    this.stored = codes.length
    this.codes = codes
  }
}

/** A write, but for its id. */
type Write = DataCall<'insert' | 'delete' | 'write'>

/**
 * Sends a write in as many requests as it takes, a mixed one in one.
 * @returns a ResultCode for each item
 * @throws BatchError where they are several
 */
export function sendWrite(
  calls: IndexCalls,
  write: Write,
  known: KnownIndex,
  bounds: Bounds,
): Promise<Uint8Array> {
  const limits = { rows: LIMITS.batchItems, bytes: COLUMN_BYTES }
  const pieces = write.op === 'write' ? [write] : cutCall(write, limits)
  if (pieces.length > 1) return sendPieces(calls, pieces, known, bounds)
  const send = (known: KnownIndex) => calls.request(known, withId(write, calls), bounds)
  return calls.run(known, send).then((reply) => readBytes([{ reply, asked: write }], 'codes'))
}

/** A column of one operation, by its number. */
const OPS = Array.from(Object.values(WriteOp), (_, op) => ({ bytes: Uint8Array.of(op), width: 1 }))

/** One item of a write. */
export interface WriteItem {
  readonly op: WriteOp
  readonly key: Column
  readonly payload: Column
  /** When it expires, u64. */
  readonly expireAt?: Column | undefined
}

/**
 * Makes a write of one item, in a request with others of the turn.
 *
 * @param read what its outcome means
 * @throws WarpdexError also `BAD_REQUEST` where NaN was to be stored under
 */
export function writeOne<T>(
  calls: IndexCalls,
  { op, key, payload, expireAt }: WriteItem,
  known: KnownIndex,
  bounds: Bounds,
  read: (hasChanged: boolean) => T,
): Promise<T> {
  const columns = { ops: OPS[op], keys: key, payloads: payload, expireAt }
  const call = { op: 'write', count: 1, columns } as const
  const send = (whole: Write, known: KnownIndex, bounds: Bounds) => sendWrite(calls, whole, known, bounds)
  return calls.shared.make(call, known, bounds, send, (codes, i) => {
    const code = codes[i]
    // To delete what can never be stored is right.
    const isDelete = op === WriteOp.deleteKey || op === WriteOp.deletePair
    if (code === ResultCode.notANumber && !isDelete) throw badRequest('NaN is not a key')
    return read(code === ResultCode.inserted || code === ResultCode.replaced || code === ResultCode.deleted)
  })
}

async function sendPieces(
  calls: IndexCalls,
  pieces: readonly Write[],
  known: KnownIndex,
  bounds: Bounds,
): Promise<Uint8Array> {
  const codes: Uint8Array[] = []
  let into = known
  try {
    await calls.connection.order.sendPieces(calls.name, bounds, async (sent) => {
      for (const [i, piece] of pieces.entries()) {
        const send = (known: KnownIndex) => {
          into = known
          const answer = calls.request(known, withId(piece, calls), bounds, true)
          if (i === pieces.length - 1) sent()
          return answer
        }
        const reply = await (i === 0 ? calls.run(into, send) : calls.goOn(into, () => send(into)))
        codes.push(readBytes([{ reply, asked: piece }], 'codes'))
      }
    })
  } catch (thrown) {
    const error = toWarpdexError(thrown)
    // What was stored in an index that is no more has gone with it.
    throw new BatchError(error, concatenate(error.code === 'INDEX_CHANGED' ? [] : codes))
  }
  return concatenate(codes)
}

/** A write that is another one each time that it is made. */
function withId(write: Write, { connection }: IndexCalls): Write {
  return { ...write, writeId: connection.newWriteId() }
}

/** The column of a call with keys. */
export function keysOf(keys: AnyKeys, definition: IndexDefinition) {
  const column = keyColumn(keys, definition)
  return { count: countOf(column), columns: { keys: column } }
}

/** The columns of a call that stores a payload for each key. */
export function itemsOf(
  keys: AnyKeys,
  payloads: PayloadsInput,
  definition: IndexDefinition,
  { expireAt }: ManyExpiryOptions = {},
) {
  const { count, columns } = keysOf(keys, definition)
  const given = {
    payloads: payloadColumn(payloads, definition, count),
    expireAt: expiryColumn(expireAt, count),
  }
  return { count, columns: { ...columns, ...given } }
}
