import { orderRows } from '../../../gpu/relational/order/row-order.js'
import type { NodeOf } from '../node-of.js'
import type { QueryRun } from '../query-run.js'
import { collect, type Tables } from './tables.js'

/** The rows in the order of some columns. */
export async function* order(run: QueryRun, node: NodeOf<'orderBy'>, input: Tables): Tables {
  const table = await collect(run, node.input, input)
  yield await run.step(node, [table], async () => {
    const ordered = await orderRows(run.work, table, node.by)
    return table.pick(run.work, { buffer: ordered.order, outer: false }, table.rows)
  })
}
