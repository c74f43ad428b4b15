import { distinctTable } from '../../../gpu/relational/group/group-table.js'
import type { NodeOf } from '../../../protocol/query/typed.js'
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
