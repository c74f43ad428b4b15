import { aligned, columnOf } from '../../../protocol/columns.js'
import { hasValue } from '../../../protocol/relation-batch.js'
import type { StringDictionary } from '../device-relation.js'
import type { DeviceWork } from '../query/device-work.js'
import { SortedStrings } from './sorted-strings.js'

/** A column of strings within a query. */
interface StringColumn {
  readonly values: GPUBuffer
  readonly validity: GPUBuffer | undefined
  readonly dictionary: StringDictionary
}

/** Strings of a dictionary, with their numbers in it, ascending. */
interface UsedStrings {
  readonly strings: SortedStrings
  readonly numbers: Uint32Array
}

const encoder = new TextEncoder()

/**
 * The strings that a column needs of its dictionary: all of it where that is no longer than the column, else those that its rows have,
 * for which the rows' numbers are read.
 */
export async function usedStrings(
  work: DeviceWork,
  column: StringColumn,
  rows: number,
): Promise<UsedStrings> {
  const { dictionary } = column
  const numbers =
    dictionary.size <= rows
      ? Uint32Array.from({ length: dictionary.size }, (_, number) => number)
      : await usedNumbers(work, column, rows)
  const { bytes, offsets } = columnOf(Array.from(numbers, (number) => encoder.encode(dictionary.at(number))))
  return { strings: new SortedStrings(bytes, offsets), numbers }
}

async function usedNumbers(
  work: DeviceWork,
  { values, validity, dictionary }: StringColumn,
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
