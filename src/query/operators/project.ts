import { projected } from '../../../gpu/relational/expressions/evaluate.js'
import type { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import type { QueryColumn } from '../../../gpu/relational/query/query-column.js'
import type { Table } from '../../../gpu/relational/query/table.js'
import { textColumn } from '../../../gpu/relational/query/text-column.js'
import type { NodeOf, TypedExpression } from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'
import { isTextCast } from '../text-casts.js'
import type { Tables } from './tables.js'

/** A table in which columns of what is cast to strings are strings. */
async function withTexts(work: DeviceWork, table: Table, values: readonly TypedExpression[]): Promise<Table> {
  const columns: (number | QueryColumn)[] = []
  for (const [i, value] of values.entries())
    columns.push(isTextCast(value) ? await textColumn(work, table.dense(work, i), table.rows) : i)
  return values.some(isTextCast) ? table.choose(columns) : table
}

/** Columns of each table, and values computed of them. */
export async function* project(run: QueryRun, node: NodeOf<'project'>, input: Tables): Tables {
  for await (const table of input) {
    yield await run.step(node, [table], async () => {
      const values = node.values.map((value) => (isTextCast(value) ? value.args[0] : value))
      const columns = await projected(run.work, table, values)
      run.watchFaults(node)
      return withTexts(run.work, columns, node.values)
    })
  }
}
