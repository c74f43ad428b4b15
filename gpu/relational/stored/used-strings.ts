import { aligned } from '../../../protocol/columns.js'
import { hasValue } from '../../../protocol/relation-batch.js'
import type { DeviceWork } from '../query/device-work.js'
import type { QueryColumn } from '../query/query-column.js'
import { readValues } from '../query/read-values.js'
import type { StringDictionary } from '../string-dictionary.js'

/** The numbers of the strings of a dictionary that the rows of a column have, ascending; the rows' numbers are read for it. */
export async function usedStrings(
  work: DeviceWork,
  column: QueryColumn,
  dictionary: StringDictionary,
  rows: number,
): Promise<Uint32Array> {
  const [read] = await readValues(work, [column], 0, rows)
  const { values, validity } = read!
  // A set would end at 2^24 numbers.
  const used = new Uint8Array(Math.ceil(dictionary.size / 8))
  let count = 0
  aligned(values, Uint32Array).forEach((number, row) => {
    if (!hasValue(validity, row) || hasValue(used, number)) return
    used[number >> 3] |= 1 << (number & 7)
    count++
  })
  const numbers = new Uint32Array(count)
  for (let number = 0, place = 0; place < count; number++)
    if (hasValue(used, number)) numbers[place++] = number
  return numbers
}
