import { aggregateGroups } from '../../../gpu/relational/query/aggregate.js'
import type { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import { evaluateExpression } from '../../../gpu/relational/query/expressions.js'
import { Table } from '../../../gpu/relational/query/table.js'
import type { NodeOf } from '../node-of.js'
import type { QueryRun } from '../query-run.js'
import { collect, type Tables } from './tables.js'

/** A row for each group. */
export async function* group(run: QueryRun, node: NodeOf<'groupBy'>, input: Tables): Tables {
  const table = await collect(run, node.input, input)
  yield await run.step(node, [table], async () => {
    const groups = await groupTable(run.work, node, table)
    await run.checkFaults(node)
    return groups
  })
}

async function groupTable(work: DeviceWork, node: NodeOf<'groupBy'>, table: Table): Promise<Table> {
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
  const ordered = { buffer: groups.order, outer: false }
  const first = work.kernels.fetch.compose(
    work,
    ordered,
    { buffer: groups.starts, outer: false },
    groups.count,
  )
  const keyTable = keys.pick(work, first, groups.count)
  return new Table(groups.count, [...keyTable.columns, ...Table.ofColumns(groups.count, aggregates).columns])
}
