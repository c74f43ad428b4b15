import { concatenate, countOf } from '../../protocol/columns.js'
import { type WireColumns, wireColumn } from '../../protocol/data-request.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { IndexDefinition } from '../../protocol/types.js'
import { cutPieces, type WriteItems } from '../../protocol/write-pieces.js'
import type { Bounds } from './call-options.js'
import type { DataCall } from './connection.js'
import type { IndexCalls, KnownIndex } from './index-calls.js'
import { wireKeys } from './keys.js'
import { COLUMN_BYTES } from './parts.js'
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

/** A write, but for its items. */
type Write = Omit<DataCall<'insert' | 'delete' | 'write'>, 'count' | 'columns'>

/**
 * Sends a write in as many requests as it takes, a mixed one in one.
 * @param ops of a mixed one: a WriteOp for each item
 * @returns a ResultCode for each item
 * @throws BatchError where they are several
 */
export function sendWrite(
  calls: IndexCalls,
  write: Write,
  items: WriteItems,
  known: KnownIndex,
  bounds: Bounds,
  ops?: Uint8Array,
): Promise<Uint8Array> {
  const limits = { rows: LIMITS.batchItems, bytes: COLUMN_BYTES }
  const pieces = ops === undefined ? [...cutPieces(items, limits)] : [items]
  if (pieces.length > 1) return sendPieces(calls, write, pieces, known, bounds)
  const call = callOf(write, items, known, ops)
  const send = (known: KnownIndex) => calls.request(known, withId(call, calls), bounds)
  return calls.run(known, send).then((reply) => readBytes([{ reply, asked: call }], 'codes'))
}

async function sendPieces(
  calls: IndexCalls,
  write: Write,
  pieces: readonly WriteItems[],
  known: KnownIndex,
  bounds: Bounds,
): Promise<Uint8Array> {
  const codes: Uint8Array[] = []
  let into = known
  try {
    await calls.connection.order.sendPieces(calls.name, bounds, async (sent) => {
      for (const [i, piece] of pieces.entries()) {
        const call = callOf(write, piece, known)
        const send = (known: KnownIndex) => {
          into = known
          const answer = calls.requestAhead(known, withId(call, calls), bounds)
          if (i === pieces.length - 1) sent()
          return answer
        }
        const reply = await (i === 0 ? calls.run(into, send) : calls.goOn(into, () => send(into)))
        codes.push(readBytes([{ reply, asked: call }], 'codes'))
      }
    })
  } catch (thrown) {
    const error = toWarpdexError(thrown)
    // What was stored in an index that is no more has gone with it.
    throw new BatchError(error, concatenate(error.code === 'INDEX_CHANGED' ? [] : codes))
  }
  return concatenate(codes)
}

/** A call that is another one each time that it is made. */
function withId<C extends object>(call: C, { connection }: IndexCalls): C & { readonly writeId: number } {
  return { ...call, writeId: connection.newWriteId() }
}

function callOf(write: Write, items: WriteItems, known: IndexDefinition, ops?: Uint8Array) {
  const columns = writeColumns(items, known)
  const count = countOf(items.keys)
  return {
    ...write,
    count,
    columns: ops === undefined ? columns : { ops: wireColumn('u8', ops), ...columns },
  }
}

/** The columns of a write. */
export function writeColumns({ keys, payloads }: WriteItems, definition: IndexDefinition): WireColumns {
  return {
    keys: wireKeys(keys, definition),
    payloads: payloads && wireColumn('bytes', payloads.bytes, payloads.offsets),
  }
}
