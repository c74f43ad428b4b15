import { asBytes } from '../../protocol/columns.js'
import type { Sections } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import { type IndexDefinition, keyWidth, payloadBytes } from '../../protocol/types.js'
import { cutPieces, type ItemWidths, type WriteItems } from '../../protocol/write-pieces.js'
import { keySections } from './keys.js'

/** Bytes of a frame that are left to columns: the rest is room for the header and the gaps between sections. */
export const COLUMN_BYTES = LIMITS.frameBytes - LIMITS.headerBytes - 1024

/** The items in order, in pieces that fit in a request. */
export function writePieces(items: WriteItems, definition: IndexDefinition): Generator<WriteItems> {
  return cutPieces(items, itemWidths(definition), { rows: LIMITS.batchItems, bytes: COLUMN_BYTES })
}

export function itemWidths({ keyType, payloadKind }: IndexDefinition): ItemWidths {
  return { keys: keyWidth(keyType), payloads: payloadBytes(payloadKind) }
}

/** The sections of a write. */
export function writeSections({ keys, payloads }: WriteItems, definition: IndexDefinition): Sections {
  const sections = keySections(keys, definition)
  if (payloads === undefined) return sections
  const withPayloads: Sections = { ...sections, payloads: { type: 'bytes', bytes: payloads.bytes } }
  if (payloads.offsets === undefined) return withPayloads
  return { ...withPayloads, payloadOffsets: { type: 'u32', bytes: asBytes(payloads.offsets) } }
}
