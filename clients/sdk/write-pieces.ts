import type { KeyArray } from '../../protocol/columns.js'
import { asBytes } from '../../protocol/columns.js'
import type { Sections } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import { type IndexDefinition, payloadBytes } from '../../protocol/types.js'
import { keySection } from './keys.js'
import type { PayloadColumn } from './payload-column.js'

/** The columns of a write. */
export interface WriteItems {
  readonly keys: KeyArray
  readonly payloads: PayloadColumn | undefined
}

/** Bytes of a frame that are left to columns: the rest is room for the header and the gaps between sections. */
export const COLUMN_BYTES = LIMITS.frameBytes - LIMITS.headerBytes - 1024

/** The items in order, in pieces that fit in a request. */
export function* writePieces(items: WriteItems, definition: IndexDefinition): Generator<WriteItems> {
  const { keys, payloads } = items
  let start = 0
  do {
    const end = pieceEnd(items, definition, start)
    if (start === 0 && end === keys.length) yield items
    else
      yield { keys: keys.subarray(start, end), payloads: payloads && cut(payloads, definition, start, end) }
    start = end
  } while (start < keys.length)
}

/** The sections of a write. */
export function writeSections({ keys, payloads }: WriteItems, definition: IndexDefinition): Sections {
  const sections = { keys: keySection(keys, definition) }
  if (payloads === undefined) return sections
  const withPayloads: Sections = { ...sections, payloads: { type: 'bytes', bytes: payloads.bytes } }
  if (payloads.offsets === undefined) return withPayloads
  return { ...withPayloads, payloadOffsets: { type: 'u32', bytes: asBytes(payloads.offsets) } }
}

function pieceEnd({ keys, payloads }: WriteItems, definition: IndexDefinition, start: number): number {
  const offsets = payloads?.offsets
  const width = payloadBytes(definition.payloadKind) ?? Uint32Array.BYTES_PER_ELEMENT
  const itemBytes = keys.BYTES_PER_ELEMENT + width
  const fits = (end: number) =>
    (end - start) * itemBytes + (offsets === undefined ? 0 : offsets[end] - offsets[start]) <= COLUMN_BYTES
  let most = Math.min(keys.length, start + LIMITS.batchItems)
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

function cut(
  { bytes, offsets }: PayloadColumn,
  { payloadKind }: IndexDefinition,
  start: number,
  end: number,
): PayloadColumn {
  const width = payloadBytes(payloadKind)
  if (width !== undefined) return { bytes: bytes.subarray(start * width, end * width), offsets: undefined }
  if (offsets === undefined) return { bytes, offsets }
  const base = offsets[start]
  return {
    bytes: bytes.subarray(base, offsets[end]),
    offsets: offsets.slice(start, end + 1).map((offset) => offset - base),
  }
}
