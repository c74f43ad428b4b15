import { toWarpdexError } from '../../protocol/errors.js'
import { rowCount } from '../../protocol/rows.js'
import { keyWidth } from '../../protocol/types.js'
import type { WriteItems } from '../../protocol/write-pieces.js'
import { BatchError } from './batch-error.js'
import type { Reply } from './connection.js'
import type { IndexCalls, KnownIndex } from './index-calls.js'
import { joinBytes } from './key-parts.js'
import type { Bounds } from './options.js'
import { readBytes } from './reply-columns.js'
import { writePieces, writeSections } from './write-pieces.js'

type WriteOp = 'insert' | 'delete' | 'write'

/** A ResultCode for each item. */
export function readCodes(reply: Reply<WriteOp>, count: number): Uint8Array {
  return readBytes([{ reply, count }], 'codes', () => count)
}

/**
 * Sends inserts or deletes in as many requests as it takes.
 * @returns a ResultCode for each item
 * @throws BatchError where they are several
 */
export async function sendWrites(
  calls: IndexCalls,
  op: 'insert' | 'delete',
  fields: object,
  items: WriteItems,
  known: KnownIndex,
  bounds: Bounds,
): Promise<Uint8Array> {
  const withId = () => ({ ...fields, writeId: calls.connection.newWriteId() })
  const codesOf = async (reply: Promise<Reply<typeof op>>, { keys }: WriteItems) =>
    readCodes(await reply, rowCount(keys, keyWidth(known.keyType)))
  const pieces = [...writePieces(items, known)]
  if (pieces.length === 1) {
    return calls.run(known, (known) =>
      codesOf(calls.request(op, known, withId(), writeSections(items, known), bounds), items),
    )
  }
  const codes: Uint8Array[] = []
  let into = known
  try {
    await calls.connection.order.sendPieces(calls.name, bounds, async (sent) => {
      for (const [i, piece] of pieces.entries()) {
        const send = (known: KnownIndex) => {
          into = known
          const sections = writeSections(piece, known)
          const reply = calls.request(op, known, withId(), sections, bounds, 'requestAhead')
          if (i === pieces.length - 1) sent()
          return codesOf(reply, piece)
        }
        codes.push(await (i === 0 ? calls.run(into, send) : calls.goOn(into, () => send(into))))
      }
    })
  } catch (thrown) {
    const error = toWarpdexError(thrown)
    // What was stored in an index that is no more has gone with it.
    throw new BatchError(error, joinBytes(error.code === 'INDEX_CHANGED' ? [] : codes))
  }
  return joinBytes(codes)
}
