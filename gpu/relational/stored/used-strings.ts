import { aligned } from '../../../protocol/columns.js'
import { hasValue } from '../../../protocol/relation-batch.js'
import type { DeviceWork } from '../query/device-work.js'
import type { QueryColumn } from '../query/query-column.js'
import type { StringDictionary } from '../string-dictionary.js'

/** The numbers of the strings of a dictionary that the rows of a column have, ascending; the rows' numbers are read for it. */
export async function usedStrings(
  work: DeviceWork,
  { values, validity }: QueryColumn,
  dictionary: StringDictionary,
  rows: number,
): Promise<Uint32Array> {
  const places = [{ buffer: values, bytes: rows * 4 }]
  if (validity !== undefined) places.push({ buffer: validity, bytes: Math.ceil(rows / 32) * 4 })
  const [read, bits] = await work.readColumns(places)
  // A set would end at 2^24 numbers.
  const used = new Uint8Array(Math.ceil(dictionary.size / 8))
  let count = 0
  aligned(read!, Uint32Array).forEach((number, row) => {
    if (!hasValue(bits, row) || hasValue(used, number)) return
    used[number >> 3] |= 1 << (number & 7)
    count++
  })
  const numbers = new Uint32Array(count)
  for (let number = 0, place = 0; place < count; number++)
    if (hasValue(used, number)) numbers[place++] = number
  return numbers
}
