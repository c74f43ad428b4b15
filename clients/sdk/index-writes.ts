import { toWarpdexError } from '../../protocol/errors.js'
import { concatenate, rowCount } from '../../protocol/rows.js'
import { keyWidth } from '../../protocol/types.js'
import type { WriteItems } from '../../protocol/write-pieces.js'
import { BatchError } from './batch-error.js'
import type { IndexCall, IndexCalls, KnownIndex } from './index-calls.js'
import type { Bounds } from './options.js'
import { readBytes } from './reply-columns.js'
import { writeColumns, writePieces } from './write-pieces.js'

/**
 * Sends inserts or deletes in as many requests as it takes.
 * @returns a ResultCode for each item
 * @throws BatchError where they are several
 */
export async function sendWrites(
  calls: IndexCalls,
  write: Omit<IndexCall<'insert' | 'delete'>, 'count' | 'columns'>,
  items: WriteItems,
  known: KnownIndex,
  bounds: Bounds,
): Promise<Uint8Array> {
  const send = async (piece: WriteItems, known: KnownIndex, way: 'request' | 'requestAhead') => {
    const count = rowCount(piece.keys, keyWidth(known.keyType))
    const writeId = calls.connection.newWriteId()
    const call = { ...write, writeId, count, columns: writeColumns(piece, known) }
    return readBytes([{ reply: await calls[way](known, call, bounds), count }], 'codes')
  }
  const pieces = [...writePieces(items, known)]
  if (pieces.length === 1) return calls.run(known, (known) => send(items, known, 'request'))
  const codes: Uint8Array[] = []
  let into = known
  try {
    await calls.connection.order.sendPieces(calls.name, bounds, async (sent) => {
      for (const [i, piece] of pieces.entries()) {
        const sendPiece = (known: KnownIndex) => {
          into = known
          const answer = send(piece, known, 'requestAhead')
          if (i === pieces.length - 1) sent()
          return answer
        }
        codes.push(await (i === 0 ? calls.run(into, sendPiece) : calls.goOn(into, () => sendPiece(into))))
      }
    })
  } catch (thrown) {
    const error = toWarpdexError(thrown)
    // What was stored in an index that is no more has gone with it.
    throw new BatchError(error, concatenate(error.code === 'INDEX_CHANGED' ? [] : codes))
  }
  return concatenate(codes)
}
