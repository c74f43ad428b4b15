import { aligned, asBytes } from '../../../protocol/columns.js'
import { type ColumnValues, hasValue } from '../../../protocol/relation-batch.js'
import type { StringDictionary } from '../string-dictionary.js'

/** A column with the strings that its rows have, numbered among these. */
export function withOwnStrings(
  { values, validity }: ColumnValues,
  dictionary: StringDictionary,
): ColumnValues {
  const codes = aligned(values, Uint32Array)
  const used = new Set<number>()
  for (let row = 0; row < codes.length; row++) if (hasValue(validity, row)) used.add(codes[row]!)
  const ascending = Uint32Array.from(used).sort()
  const numbers = new Map(Array.from(ascending, (code, number) => [code, number]))
  const strings = dictionary.choose(ascending)
  return { values: asBytes(codes.map((code) => numbers.get(code) ?? 0)), validity, strings }
}
