import type { NodeOf } from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'
import { type Reading, selectTable } from '../selection/select-table.js'
import type { Tables } from './tables.js'

/**
 * The rows of each table that a condition holds for.
 * @param reading what becomes of them
 */
export async function* where(run: QueryRun, node: NodeOf<'where'>, input: Tables, reading: Reading): Tables {
  for await (const table of input) {
    yield await run.step(node, [table], async () => {
      const selected = await selectTable(run, node, table, reading)
      run.watchFaults(node)
      return selected
    })
  }
}
