import { evaluateExpression } from '../../../gpu/relational/query/expressions.js'
import { Table } from '../../../gpu/relational/query/table.js'
import type { NodeOf } from '../node-of.js'
import type { QueryRun } from '../query-run.js'
import type { Tables } from './tables.js'

/** Columns of each table, and values computed of them. */
export async function* project(run: QueryRun, node: NodeOf<'project'>, input: Tables): Tables {
  for await (const table of input) {
    yield await run.step(node, [table], async () => {
      const columns = node.values.map((value) =>
        value.kind === 'column'
          ? table.columns[value.index]!
          : { source: evaluateExpression(run.work, table, value), rows: undefined },
      )
      await run.checkFaults(node)
      return new Table(table.rows, columns)
    })
  }
}
