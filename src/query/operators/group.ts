import { projected } from '../../../gpu/relational/expressions/evaluate.js'
import { firstRows } from '../../../gpu/relational/order/row-groups.js'
import { aggregateGroups } from '../../../gpu/relational/query/aggregate.js'
import type { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import { Table } from '../../../gpu/relational/query/table.js'
import type { NodeOf } from '../node-of.js'
import type { QueryRun } from '../query-run.js'
import { collect, type Tables } from './tables.js'

/** A row for each group. */
export async function* group(run: QueryRun, node: NodeOf<'groupBy'>, input: Tables): Tables {
  const table = await collect(run, node.input, input)
  yield await run.step(node, [table], async () => {
    const groups = await groupTable(run.work, node, table)
    run.watchFaults(node)
    return groups
  })
}

async function groupTable(work: DeviceWork, node: NodeOf<'groupBy'>, table: Table): Promise<Table> {
  if (node.keys.length === 0) {
    const starts = work.words(1)
    work.recorder.clear(starts, 0, 4)
    const groups = { order: undefined, starts, count: 1, isWhole: true }
    return Table.ofColumns(1, await aggregateGroups(work, table, groups, node.aggregates))
  }
  const keys = await projected(work, table, node.keys)
  const groups = await work.kernels.groupStarts.group(work, keys)
  const aggregates = await aggregateGroups(work, table, groups, node.aggregates)
  const keyTable = keys.pick(work, firstRows(work, groups), groups.count).ordered(groups.firstsBy)
  return keyTable.choose([...keyTable.columns.keys(), ...aggregates])
}
