import { evaluateExpression } from '../../../gpu/relational/query/expressions.js'
import type { NodeOf } from '../node-of.js'
import type { QueryRun } from '../query-run.js'
import type { Tables } from './tables.js'

/** Columns of each table, and values computed of them. */
export async function* project(run: QueryRun, node: NodeOf<'project'>, input: Tables): Tables {
  for await (const table of input) {
    yield await run.step(node, [table], async () => {
      const values = node.values.map((value) =>
        value.kind === 'column' ? value.index : evaluateExpression(run.work, table, value),
      )
      await run.checkFaults(node)
      return table.choose(values)
    })
  }
}
