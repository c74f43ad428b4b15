import { columnWords } from '../column-types.js'
import { aligned, asBytes, columnOf, concatenate } from '../columns.js'
import { WarpdexError } from '../errors.js'
import { type BatchColumn, type ResultBatch, TEXT_END_BYTES } from './result.js'
import type { ResultColumn } from './tree.js'

const ENCODER = new TextEncoder()
/** A mark at the beginning of a text is one of its characters. */
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })

/** Where a column of a batch lies in its section, in bytes from the section's start; all are multiples of 8. */
export interface ColumnPlace extends ResultColumn {
  readonly values: number
  /** Absent where all rows have a value. */
  readonly validity?: number | undefined
  /** Of strings: where the ends of the distinct ones are, u32 each from 0 on, and their UTF-8 right behind. */
  readonly texts?: { readonly offset: number; readonly count: number } | undefined
}

/** A batch as fields of a header and one section. */
export interface PlacedBatch {
  readonly rows: number
  readonly columns: readonly ColumnPlace[]
}

export function encodeBatch({ rows, columns }: ResultBatch): {
  readonly batch: PlacedBatch
  readonly data: Uint8Array
} {
  const pieces: { readonly at: number; readonly bytes: Uint8Array }[] = []
  let end = 0
  const place = (bytes: Uint8Array) => {
    const at = Math.ceil(end / 8) * 8
    pieces.push({ at, bytes })
    end = at + bytes.byteLength
    return at
  }
  const places = columns.map(
    ({ name, type, nullable, values, validity, texts }): ColumnPlace => ({
      name,
      type,
      nullable,
      values: place(values),
      validity: validity && place(validity),
      texts: texts && { offset: place(encodeTexts(texts)), count: texts.length },
    }),
  )
  const data = new Uint8Array(end)
  for (const { at, bytes } of pieces) data.set(bytes, at)
  return { batch: { rows, columns: places }, data }
}

/**
 * The batch of a reply. Columns are views of the section's memory.
 * @throws WarpdexError `INTERNAL` where the section is shorter than the header says
 */
export function decodeBatch({ rows, columns }: PlacedBatch, data: Uint8Array): ResultBatch {
  const piece = (at: number, bytes: number) => {
    if (at + bytes > data.byteLength) throw new WarpdexError('INTERNAL', 'a batch of rows is cut short')
    return data.subarray(at, at + bytes)
  }
  const textsAt = (at: number, endBytes: number) =>
    decodeTexts(aligned(piece(at, endBytes), Uint32Array), data.subarray(at + endBytes))
  const decoded = columns.map(
    ({ name, type, nullable, values, validity, texts }): BatchColumn => ({
      name,
      type,
      nullable,
      values: piece(values, rows * columnWords(type) * 4),
      validity: validity === undefined ? undefined : piece(validity, Math.ceil(rows / 8)),
      texts: texts && textsAt(texts.offset, texts.count * TEXT_END_BYTES),
    }),
  )
  return { rows, columns: decoded }
}

/** Where each text ends, u32 each, and their UTF-8 behind. */
function encodeTexts(texts: readonly string[]): Uint8Array {
  const { bytes, offsets } = columnOf(texts.map((text) => ENCODER.encode(text)))
  return concatenate([asBytes(offsets.subarray(1)), bytes])
}

function decodeTexts(ends: Uint32Array, bytes: Uint8Array): string[] {
  return Array.from(ends, (end, i) => DECODER.decode(bytes.subarray(i === 0 ? 0 : ends[i - 1], end)))
}
