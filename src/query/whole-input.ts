import { orderRows } from '../../gpu/relational/order/row-order.js'
import { aggregateGroups } from '../../gpu/relational/query/aggregate.js'
import { concatenate } from '../../gpu/relational/query/concatenate.js'
import type { DeviceWork } from '../../gpu/relational/query/device-work.js'
import { evaluateExpression, selectFlagged } from '../../gpu/relational/query/expressions.js'
import { Table } from '../../gpu/relational/query/table.js'
import type { NodeOf } from './node-of.js'

/** A row for each group. */
export async function groupTable(work: DeviceWork, node: NodeOf<'groupBy'>, table: Table): Promise<Table> {
  if (node.keys.length === 0) {
    const starts = work.words(1)
    work.recorder.clear(starts, 0, 4)
    const groups = { order: undefined, starts, count: 1 }
    return Table.ofColumns(1, await aggregateGroups(work, table, groups, node.aggregates))
  }
  const columns = node.keys.map((key) =>
    key.kind === 'column'
      ? table.columns[key.index]!
      : { source: evaluateExpression(work, table, key), rows: undefined },
  )
  const keys = new Table(table.rows, columns)
  const groups = await work.kernels.groupStarts.group(work, keys)
  const aggregates = await aggregateGroups(work, table, groups, node.aggregates)
  const first = firstRows(work, groups)
  const keyTable = keys.pick(work, first, groups.count)
  return new Table(groups.count, [...keyTable.columns, ...Table.ofColumns(groups.count, aggregates).columns])
}

/** Each row once. */
export async function distinctTable(work: DeviceWork, table: Table): Promise<Table> {
  const groups = await work.kernels.groupStarts.group(work, table)
  return table.pick(work, firstRows(work, groups), groups.count)
}

export async function orderTable(work: DeviceWork, node: NodeOf<'orderBy'>, table: Table): Promise<Table> {
  const { order } = await orderRows(work, table, node.by)
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
  const groups = await work.kernels.groupStarts.group(work, both)
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
