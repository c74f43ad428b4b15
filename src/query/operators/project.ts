import { projected } from '../../../gpu/relational/expressions/evaluate.js'
import type { NodeOf } from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'
import type { Tables } from './tables.js'

/** Columns of each table, and values computed of them. */
export async function* project(run: QueryRun, node: NodeOf<'project'>, input: Tables): Tables {
  for await (const table of input) {
    yield await run.step(node, [table], async () => {
      const columns = await projected(run.work, table, node.values)
      run.watchFaults(node)
      return columns
    })
  }
}
