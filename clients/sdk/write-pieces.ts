import { asBytes } from '../../protocol/columns.js'
import type { Sections } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import { type Rows, type RowWidth, rowCount, sliceRows } from '../../protocol/rows.js'
import { type IndexDefinition, keyWidth, payloadBytes } from '../../protocol/types.js'
import { keySections } from './keys.js'

/** The columns of a write. */
export interface WriteItems {
  readonly keys: Rows
  readonly payloads: Rows | undefined
}

/** Bytes of a frame that are left to columns: the rest is room for the header and the gaps between sections. */
export const COLUMN_BYTES = LIMITS.frameBytes - LIMITS.headerBytes - 1024

/** The items in order, in pieces that fit in a request. */
export function* writePieces(items: WriteItems, definition: IndexDefinition): Generator<WriteItems> {
  const { keys, payloads } = items
  const widths = { keys: keyWidth(definition.keyType), payloads: payloadBytes(definition.payloadKind) }
  const count = rowCount(keys, widths.keys)
  let start = 0
  do {
    const end = pieceEnd(items, widths, start)
    const cut = (rows: Rows, width: RowWidth) => sliceRows(rows, width, start, end)
    if (start === 0 && end === count) yield items
    else yield { keys: cut(keys, widths.keys), payloads: payloads && cut(payloads, widths.payloads) }
    start = end
  } while (start < count)
}

/** The sections of a write. */
export function writeSections({ keys, payloads }: WriteItems, definition: IndexDefinition): Sections {
  const sections = keySections(keys, definition)
  if (payloads === undefined) return sections
  const withPayloads: Sections = { ...sections, payloads: { type: 'bytes', bytes: payloads.bytes } }
  if (payloads.offsets === undefined) return withPayloads
  return { ...withPayloads, payloadOffsets: { type: 'u32', bytes: asBytes(payloads.offsets) } }
}

function pieceEnd(
  { keys, payloads }: WriteItems,
  widths: { readonly keys: RowWidth; readonly payloads: RowWidth },
  start: number,
): number {
  const count = rowCount(keys, widths.keys)
  const fits = (end: number) => {
    const payloadColumn = payloads === undefined ? 0 : columnBytes(payloads, widths.payloads, start, end)
    return columnBytes(keys, widths.keys, start, end) + payloadColumn <= COLUMN_BYTES
  }
  let most = Math.min(count, start + LIMITS.batchItems)
  if (fits(most)) return most
  // One item goes alone, however large: the server says what is wrong with it.
  let least = start + 1
  while (most - least > 1) {
    const middle = (least + most) >>> 1
    if (fits(middle)) least = middle
    else most = middle
  }
  return least
}

/** Bytes that rows number `start` to before `end` take in a frame. */
function columnBytes({ offsets }: Rows, width: RowWidth, start: number, end: number): number {
  if (offsets === undefined) return (end - start) * (width ?? 0)
  return offsets[end] - offsets[start] + (end - start + 1) * Uint32Array.BYTES_PER_ELEMENT
}
