import type { DeviceWork } from './device-work.js'
import { type QueryColumn, valueWords } from './query-column.js'

/** What was read of a column, in memory that is lent. */
export interface ReadValues {
  readonly source: QueryColumn
  readonly values: Uint8Array
  /** Whole words of bits. */
  readonly validity: Uint8Array | undefined
}

/**
 * Neighbouring rows of columns, read in one go.
 * @param first a multiple of 32, since bits are read by words of them
 */
export async function readValues(
  work: DeviceWork,
  sources: readonly QueryColumn[],
  first: number,
  rows: number,
): Promise<ReadValues[]> {
  const places = sources.flatMap(({ type, values, validity }) => {
    const bytes = 4 * valueWords(type)
    const ofValues = { buffer: values, bytes: rows * bytes, offset: first * bytes }
    if (validity === undefined) return [ofValues]
    return [ofValues, { buffer: validity, bytes: 4 * Math.ceil(rows / 32), offset: first / 8 }]
  })
  const read = (await work.readColumns(places)).values()
  return sources.map((source) => {
    const values = read.next().value!
    return { source, values, validity: source.validity && read.next().value! }
  })
}
