import { WarpdexError } from '../../../protocol/errors.js'
import type { TypedAggregate, TypedExpression } from '../../../protocol/query/typed.js'
import { projected } from '../expressions/evaluate.js'
import { firstRows, learntOrder } from '../order/row-groups.js'
import { ascending } from '../order/sortedness.js'
import type { DeviceWork } from '../query/device-work.js'
import { Table } from '../query/table.js'
import type { GroupedRows } from './group-plan.js'
import { markRows } from './marked-rows.js'
import { reduceAll, reduceOrdered } from './reduce-groups.js'
import { type FoundGroups, groupBySlots, slotKeys } from './slot-groups.js'

/** What is asked of groups. */
export interface Grouping {
  readonly keys: readonly TypedExpression[]
  readonly aggregates: readonly TypedAggregate[]
}

/** Groups as a table, and how they were found. */
export interface Grouped {
  readonly table: Table
  readonly method: string
}

/** Groups that were found in one pass. */
export type GroupedAtOnce = Grouped & Pick<FoundGroups, 'rows'>

/**
 * A row for each group of a table's rows: its keys, in whose order they are, and its aggregates. A sum of more than 38 digits is a fault
 * (`sumFault` of the aggregate's number); an average is the float that is nearest to the sum, exact of integers, divided by the number of values.
 */
export async function groupTable(
  work: DeviceWork,
  table: Table,
  { keys, aggregates: asked }: Grouping,
): Promise<Grouped> {
  const { table: marked, aggregates } = await markRows(work, table, keys, asked)
  const keyed = await projected(work, table, keys)
  const found = await groupRows(work, { table: marked, condition: undefined }, keyed, aggregates)
  if (found !== undefined) return found
  const simple = await materialised(work, marked, aggregates)
  const again = await groupRows(work, simple.rows, keyed, simple.aggregates)
  if (again === undefined) throw new WarpdexError('INTERNAL', 'an aggregate reads too many columns')
  return again
}

/** Each row of a table once. */
export function distinctTable(work: DeviceWork, table: Table): Promise<Grouped> {
  const keys = table.columns.map(({ source: { type, validity } }, index): TypedExpression => {
    return { kind: 'column', index, type, nullable: validity !== undefined }
  })
  return groupTable(work, table, { keys, aggregates: [] })
}

/**
 * The same as `groupTable` of those rows of a table that a condition holds for, in the pass that finds them. A row for which the condition is a fault that may be true is a
 * fault of the query.
 * @returns undefined where groups may be too many, or need more than a pass
 */
export async function groupWhere(
  work: DeviceWork,
  rows: GroupedRows,
  { keys, aggregates }: Grouping,
): Promise<GroupedAtOnce | undefined> {
  const columns = keys.flatMap((key) => (key.kind === 'column' ? [key.index] : []))
  if (columns.length < keys.length) return undefined
  return groupAtOnce(work, rows, rows.table.choose(columns), aggregates)
}

async function groupRows(
  work: DeviceWork,
  rows: GroupedRows,
  keyed: Table,
  aggregates: readonly TypedAggregate[],
): Promise<Grouped | undefined> {
  // Of rows in order nothing but neighbours is compared.
  const isCompared = aggregates.length === 0 && (await learntOrder(work, keyed)) !== undefined
  const atOnce = isCompared ? undefined : await groupAtOnce(work, rows, keyed, aggregates)
  if (atOnce !== undefined || keyed.columns.length === 0) return atOnce
  const groups = await work.kernels.groupStarts.find(work, keyed)
  const reduced = await reduceOrdered(work, rows, groups, aggregates)
  if (reduced === undefined) return undefined
  const { count, columns } = reduced
  const first = keyed.pick(work, firstRows(work, groups, count), count).ordered(groups.firstsBy)
  const method = groups.order === undefined ? 'neighbours of rows in order' : 'radix sort'
  return { table: first.choose([...first.columns.keys(), ...columns]), method }
}

async function groupAtOnce(
  work: DeviceWork,
  rows: GroupedRows,
  keyed: Table,
  aggregates: readonly TypedAggregate[],
): Promise<GroupedAtOnce | undefined> {
  if (keyed.columns.length === 0) {
    const reduced = await reduceAll(work, rows, aggregates)
    return reduced && { table: Table.ofColumns(1, reduced.columns), rows: reduced.rows, method: 'one pass' }
  }
  const keys = await slotKeys(work, keyed.columns, keyed.rows)
  const found = keys && (await groupBySlots(work, rows, keys, aggregates))
  if (found === undefined) return undefined
  const { count, columns, rows: grouped } = found
  const by = keyed.columns.map((_, column) => ascending(column))
  const table = Table.ofColumns(count, columns).ordered({ by, unique: true })
  return { table, rows: grouped, method: 'a slot for each group' }
}

/** Aggregates over columns of values, for what no kernel can compute beside. */
async function materialised(
  work: DeviceWork,
  table: Table,
  aggregates: readonly TypedAggregate[],
): Promise<{ readonly rows: GroupedRows; readonly aggregates: readonly TypedAggregate[] }> {
  const values = aggregates.flatMap(({ value }) => value ?? [])
  const columns = await projected(work, table, values)
  const simple = aggregates.map(({ function: fn, value }): TypedAggregate => {
    if (value === undefined) return { function: fn, value }
    const { type, nullable } = value
    return { function: fn, value: { kind: 'column', index: values.indexOf(value), type, nullable } }
  })
  return { rows: { table: columns, condition: undefined }, aggregates: simple }
}
