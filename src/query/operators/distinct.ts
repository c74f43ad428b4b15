import { firstRows } from '../../../gpu/relational/order/row-groups.js'
import type { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import type { Table } from '../../../gpu/relational/query/table.js'
import type { NodeOf } from '../node-of.js'
import type { QueryRun } from '../query-run.js'
import { collect, type Tables } from './tables.js'

/** Each row once. */
export async function* distinct(run: QueryRun, node: NodeOf<'distinct'>, input: Tables): Tables {
  const table = await collect(run, node.input, input)
  yield await run.step(node, [table], async () => {
    const { table: made, method } = await distinctTable(run.work, table)
    run.figures(node).method = method
    return made
  })
}

/** Each row of a table once, and how they were found. */
export async function distinctTable(
  work: DeviceWork,
  table: Table,
): Promise<{ readonly table: Table; readonly method: string }> {
  const groups = await work.kernels.groupStarts.group(work, table)
  const firsts = table.pick(work, firstRows(work, groups), groups.count)
  const method = groups.order === undefined ? 'neighbours of rows in order' : 'radix sort'
  return { table: firsts.ordered(groups.firstsBy), method }
}
