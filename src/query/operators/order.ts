import { orderRows } from '../../../gpu/relational/order/row-order.js'
import type { NodeOf } from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'
import { collect, type Tables } from './tables.js'

/** The rows in the order of some columns. */
export async function* order(run: QueryRun, node: NodeOf<'orderBy'>, input: Tables): Tables {
  const table = await collect(run, node.input, input)
  yield await run.step(node, [table], async () => {
    const { work } = run
    const known = { by: node.by, unique: false }
    const order = await orderRows(work, table, node.by)
    run.figures(node).method = order === undefined ? 'in order already' : 'radix sort'
    if (order === undefined) return table.order === undefined ? table.ordered(known) : table
    return table.pick(work, { buffer: order, outer: false }, table.rows).ordered(known)
  })
}
