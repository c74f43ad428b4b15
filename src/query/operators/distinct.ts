import type { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import type { Table } from '../../../gpu/relational/query/table.js'
import type { NodeOf } from '../node-of.js'
import type { QueryRun } from '../query-run.js'
import { collect, type Tables } from './tables.js'

/** Each row once. */
export async function* distinct(run: QueryRun, node: NodeOf<'distinct'>, input: Tables): Tables {
  const table = await collect(run, node.input, input)
  yield await run.step(node, [table], () => distinctTable(run.work, table))
}

/** Each row once. */
export async function distinctTable(work: DeviceWork, table: Table): Promise<Table> {
  const { order, starts, count } = await work.kernels.groupStarts.group(work, table)
  const ordered = { buffer: order, outer: false }
  const first = work.kernels.fetch.compose(work, ordered, { buffer: starts, outer: false }, count)
  return table.pick(work, first, count)
}
