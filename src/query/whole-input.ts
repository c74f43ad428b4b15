import { aggregateGroups } from '../../gpu/relational/query/aggregate.js'
import { concatenate } from '../../gpu/relational/query/concatenate.js'
import type { DeviceWork } from '../../gpu/relational/query/device-work.js'
import { evaluateExpression, selectFlagged } from '../../gpu/relational/query/expressions.js'
import { orderRows } from '../../gpu/relational/query/row-order.js'
import { Table } from '../../gpu/relational/query/table.js'
import type { NodeOf } from './node-of.js'

/** A row for each group. */
export async function groupTable(work: DeviceWork, node: NodeOf<'groupBy'>, table: Table): Promise<Table> {
  const keys = node.keys.map((key) => evaluateExpression(work, table, key))
  if (keys.length === 0) {
    const starts = work.words(1)
    work.recorder.clear(starts, 0, 4)
    const groups = { order: undefined, starts, count: 1 }
    return Table.ofColumns(1, await aggregateGroups(work, table, groups, node.aggregates))
  }
  const groups = await work.kernels.groupStarts.group(work, keys, table.rows)
  const aggregates = await aggregateGroups(work, table, groups, node.aggregates)
  const first = firstRows(work, groups)
  const keyTable = Table.ofColumns(table.rows, keys).pick(work, first, groups.count)
  return new Table(groups.count, [...keyTable.columns, ...Table.ofColumns(groups.count, aggregates).columns])
}

/** Each row once. */
export async function distinctTable(work: DeviceWork, table: Table): Promise<Table> {
  const columns = table.columns.map((_, i) => table.dense(work, i))
  const groups = await work.kernels.groupStarts.group(work, columns, table.rows)
  return table.pick(work, firstRows(work, groups), groups.count)
}

export async function orderTable(work: DeviceWork, node: NodeOf<'orderBy'>, table: Table): Promise<Table> {
  const by = node.by.map(({ column, descending, nullsFirst }) => ({
    column: table.dense(work, column),
    descending,
    nullsFirst,
  }))
  const { order } = await orderRows(work, by, table.rows)
  return table.pick(work, { buffer: order, outer: false }, table.rows)
}

/** A set operator by whole rows. */
export async function combineTables(
  work: DeviceWork,
  { op, all }: { readonly op: 'union' | 'intersect' | 'except'; readonly all: boolean },
  left: Table,
  right: Table,
): Promise<Table> {
  const both = concatenate(work, [left, right])
  if (op === 'union') return all ? both : distinctTable(work, both)
  if (left.rows === 0 || (right.rows === 0 && op === 'intersect')) return left.slice(work, 0, 0)
  const columns = both.columns.map((_, i) => both.dense(work, i))
  const groups = await work.kernels.groupStarts.group(work, columns, both.rows)
  const operation = all ? (`${op}All` as const) : op
  const flags = work.kernels.setMembers.record(work, groups, both.rows, left.rows, operation)
  const { numbers, count } = await selectFlagged(work, flags, both.rows)
  const order = { buffer: groups.order, outer: false }
  return both.pick(work, work.kernels.fetch.compose(work, order, numbers, count), count)
}

function firstRows(
  work: DeviceWork,
  { order, starts, count }: { readonly order: GPUBuffer; readonly starts: GPUBuffer; readonly count: number },
) {
  return work.kernels.fetch.compose(
    work,
    { buffer: order, outer: false },
    { buffer: starts, outer: false },
    count,
  )
}
