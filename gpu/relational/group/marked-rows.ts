import { getOrInsert } from '../../../protocol/get-or-insert.js'
import { nullOf } from '../../../protocol/query/constants.js'
import { structureOf } from '../../../protocol/query/structure.js'
import type { AggregatedRows, TypedAggregate, TypedExpression } from '../../../protocol/query/typed.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import { evaluateRows, projected } from '../expressions/evaluate.js'
import type { RowCode } from '../expressions/row-code.js'
import type { RowGroups } from '../order/row-groups.js'
import { orderRows } from '../order/row-order.js'
import { ascending } from '../order/sortedness.js'
import type { DeviceWork } from '../query/device-work.js'
import { plainColumn } from '../query/query-column.js'
import { Table, type TableColumn } from '../query/table.js'

/** Rows that are grouped, and aggregates of all rows of a group. */
interface Marked {
  readonly table: Table
  readonly aggregates: readonly TypedAggregate[]
}

/**
 * Aggregates of some rows of each group, such as one for each different value, as aggregates of all: these rows are marked in further columns, and others have null
 * for a value.
 */
export async function markRows(
  work: DeviceWork,
  table: Table,
  keys: readonly TypedExpression[],
  aggregates: readonly TypedAggregate[],
): Promise<Marked> {
  const columns: TableColumn[] = [...table.columns]
  const marked = new Map<string, Promise<TypedExpression>>()
  const markOf = async (rows: AggregatedRows, value: TypedExpression): Promise<TypedExpression> => {
    const values = await marksOf(work, table, keys, rows, value)
    columns.push({ source: plainColumn('boolean', values), rows: undefined })
    return { kind: 'column', index: columns.length - 1, type: 'boolean', nullable: false }
  }
  const all: TypedAggregate[] = []
  for (const aggregate of aggregates) {
    const { function: fn, rows, value } = aggregate
    if (rows === undefined || value === undefined) {
      all.push(aggregate)
      continue
    }
    const same = rows === 'first' ? rows : `${rows} ${structureOf(value)}`
    const mark = await getOrInsert(marked, same, () => markOf(rows, value))
    const { type } = value
    const args = [mark, value, nullOf(type)] as const
    all.push({ function: fn, value: { kind: 'choose', args, type, nullable: true } })
  }
  return { table: new Table(table.rows, columns, table.order), aggregates: all }
}

/** For each row 1 if it is one of those that are asked for, else 0. */
async function marksOf(
  work: DeviceWork,
  table: Table,
  keys: readonly TypedExpression[],
  rows: AggregatedRows,
  value: TypedExpression,
): Promise<DeviceMemory> {
  if (table.rows === 0) return work.absent
  if (rows === 'middle') return middleOf(work, table, keys, value)
  const keyed = await projected(work, table, rows === 'first' ? keys : [...keys, value])
  const { order, flags } = await work.kernels.groupStarts.find(work, keyed)
  return inPlace(work, flags, order, table.rows)
}

/**
 * The value in the middle of each group, or both if their number is even. Rows are put in the order of values; in each group of rows with a value, or without, these are
 * those whose rank is half of the others'. Null is no value, so that marks beside it do not matter.
 */
async function middleOf(
  work: DeviceWork,
  table: Table,
  keys: readonly TypedExpression[],
  value: TypedExpression,
): Promise<DeviceMemory> {
  const { rows } = table
  const { groupStarts } = work.kernels
  const isNull: TypedExpression = { kind: 'isNull', args: [value], type: 'boolean', nullable: false }
  const keyed = await projected(work, table, [...keys, isNull, value])
  const last = keys.length + 1
  const order = await orderRows(work, keyed, [ascending(last)])
  const sorted = order === undefined ? keyed : keyed.pick(work, { buffer: order, outer: false }, rows)
  const grouped = sorted.choose([...sorted.columns.keys()].slice(0, last))
  const groups = await groupStarts.find(work, grouped)
  const ranks = groupStarts.place(work, groups, rows, 'rank')
  const numbers = groupStarts.place(work, groups, rows, 'group')
  const [marks] = await evaluateRows(work, { count: rows }, [
    (code) => {
      const rank = code.let(`${code.bind(ranks, 'u32')}[row]`)
      const others = code.let(`${sizeOf(code, groups, rows, `${code.bind(numbers, 'u32')}[row]`)} - 1u`)
      return code.computed(
        'boolean',
        `select(0u, 1u, ${rank} == ${others} / 2u || ${rank} == (${others} + 1u) / 2u)`,
      )
    },
  ])
  return inPlace(work, marks!.values, order, rows)
}

/** WGSL of how many rows the group with a number has. */
function sizeOf(code: RowCode, { starts, count, total }: RowGroups, rows: number, group: string): string {
  const number = code.let(group)
  const groups = count === undefined ? `${code.bind(total.buffer, 'u32')}[${total.index}u]` : code.word(count)
  const first = code.bind(starts, 'u32')
  // There are places for as many groups as there are rows.
  const next = code.let(`${first}[min(${number} + 1u, ${code.word(rows - 1)})]`)
  return `(select(${code.word(rows)}, ${next}, ${number} + 1u < ${groups}) - ${first}[${number}])`
}

/** What was found for each place of an order, for each row. */
function inPlace(
  work: DeviceWork,
  values: DeviceMemory,
  order: DeviceMemory | undefined,
  rows: number,
): DeviceMemory {
  if (order === undefined) return values
  const placed = work.words(rows)
  work.kernels.primitives.scatter(work.recorder, values, order, placed, rows, 1)
  return placed
}
