import { type ColumnType, storageOf } from '../../../protocol/column-types.js'
import { aligned, joinedHalves, KEY_ARRAYS, type KeyArray } from '../../../protocol/columns.js'
import { castText } from '../../../protocol/query/cast-texts.js'
import { evaluateRows } from '../expressions/evaluate.js'
import { numbered, requireFew } from '../expressions/text-tables.js'
import { firstRows } from '../order/row-groups.js'
import type { DeviceWork } from './device-work.js'
import { type QueryColumn, valueWords } from './query-column.js'
import { readValues } from './read-values.js'
import { Table } from './table.js'

/** By the words of values: floats are told apart by all of their bits. */
const BITS = { 1: 'u32', 2: 'u64', 4: 'i128' } as const satisfies Record<number, ColumnType>

/**
 * Values that are no strings, as strings: the host makes a text for each different one.
 * @throws WarpdexError `TOO_LARGE` where there are more than `requireFew` lets pass
 */
export async function textColumn(work: DeviceWork, column: QueryColumn, rows: number): Promise<QueryColumn> {
  const { type } = column
  const { groupStarts } = work.kernels
  const bits = Table.ofColumns(rows, [{ ...column, type: BITS[valueWords(type)] }])
  const groups = await groupStarts.find(work, bits)
  const count = groups.count ?? (await work.read([groups.total]))[0]!
  requireFew(count, 'a cast to string')
  const different = bits.pick(work, firstRows(work, groups, count), count).dense(work, 0)
  const [read] = await readValues(work, [different], 0, count)
  const { dictionary, words } = numbered(integersOf(read!.values, type).map((value) => castText(value, type)))
  const group = groupStarts.place(work, groups, rows, 'group')
  const [texts] = await evaluateRows(work, { count: rows }, [
    (code) => {
      const number = `tables[${code.table(words)} + ${code.bind(group, 'u32')}[row]]`
      return code.computed('string', number, { valid: code.column(column).valid, dictionary })
    },
  ])
  return texts!
}

/** The values of a column from its bytes, of whatever type, one each. */
function integersOf(bytes: Uint8Array, type: ColumnType): readonly (number | bigint)[] {
  const storage = storageOf(type)
  if (storage !== 'i128') return Array.from<number | bigint>(aligned<KeyArray>(bytes, KEY_ARRAYS[storage]))
  const halves = aligned(bytes, BigUint64Array)
  return Array.from({ length: halves.length / 2 }, (_, row) => joinedHalves(halves, row))
}
