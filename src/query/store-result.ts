import { StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import type { TypedNode } from '../../protocol/query/typed.js'
import type { ColumnDefinition } from '../../protocol/relation.js'
import { execute } from './execute.js'
import type { QueryRun } from './query-run.js'

/**
 * Carries a query out, and makes a relation of its rows, a table at a time, so that it may be larger than what the query may take beside.
 * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `TOO_LARGE`, with nothing left behind
 */
export async function storeResult(
  run: QueryRun,
  node: TypedNode,
  columns: readonly ColumnDefinition[],
): Promise<StoredRelation> {
  const stored = await StoredRelation.create(run.work.device, columns)
  try {
    for await (const table of execute(run, node)) {
      await stored.take(run.work, table)
      run.drop(table)
    }
    await stored.settle()
    await run.work.done()
    run.work.device.check()
    run.refuse()
    return stored
  } catch (error) {
    stored.destroy()
    throw error
  }
}
