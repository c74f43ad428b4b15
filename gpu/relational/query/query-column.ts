import { type ColumnType, columnWords } from '../../../protocol/column-types.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceColumnData } from '../device-relation.js'
import type { StringDictionary } from '../string-dictionary.js'

/** A column within a query: a relation's, or a computed one, which may also be of booleans (words 0 and 1). */
export interface QueryColumn extends Omit<DeviceColumnData, 'type'> {
  readonly type: ColumnType
}

/** A column that has a value in every row, of a type other than strings. */
export function plainColumn(type: Exclude<ColumnType, 'string'>, values: DeviceMemory): QueryColumn {
  return { type, values, validity: undefined, dictionary: undefined }
}

/** u32 words of one value. */
export const valueWords = columnWords

/** Bytes of a row's number. */
export const ROW_BYTES = 4

/** A bit of a row as a part of a byte. */
const BIT_BYTES = 1 / 8

/** Bytes that a column has for each of its rows. */
export function bytesOf({ type, validity }: Pick<QueryColumn, 'type' | 'validity'>): number {
  return 4 * valueWords(type) + (validity === undefined ? 0 : BIT_BYTES)
}

/** Bits in which the values of a column differ at most: of strings those of their numbers. */
export function valueBits(type: ColumnType, dictionary: StringDictionary | undefined): number {
  if (type === 'boolean') return 1
  if (type === 'string') return bitsFor(dictionary?.size ?? 0)
  return valueWords(type) * 32
}

/** Bits for the numbers below `count`; one at least. */
export function bitsFor(count: number): number {
  return Math.max(1, Math.ceil(Math.log2(Math.max(count, 1))))
}
