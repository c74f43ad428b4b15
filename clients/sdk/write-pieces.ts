import { type WireColumns, wireColumn } from '../../protocol/data-request.js'
import { LIMITS } from '../../protocol/limits.js'
import { type IndexDefinition, keyWidth, payloadBytes } from '../../protocol/types.js'
import { cutPieces, type ItemWidths, type WriteItems } from '../../protocol/write-pieces.js'
import { wireKeys } from './keys.js'

/** Bytes of a frame that are left to columns: the rest is room for the header and the gaps between columns. */
export const COLUMN_BYTES = LIMITS.frameBytes - LIMITS.headerBytes - 1024

/** The items in order, in pieces that fit in a request. */
export function writePieces(items: WriteItems, definition: IndexDefinition): Generator<WriteItems> {
  return cutPieces(items, itemWidths(definition), { rows: LIMITS.batchItems, bytes: COLUMN_BYTES })
}

export function itemWidths({ keyType, payloadKind }: IndexDefinition): ItemWidths {
  return { keys: keyWidth(keyType), payloads: payloadBytes(payloadKind) }
}

/** The columns of a write. */
export function writeColumns({ keys, payloads }: WriteItems, definition: IndexDefinition): WireColumns {
  return {
    keys: wireKeys(keys, definition),
    payloads: payloads && wireColumn('bytes', payloads.bytes, payloads.offsets),
  }
}
