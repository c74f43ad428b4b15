import { concatenate } from '../../../gpu/relational/query/concatenate.js'
import type { Table } from '../../../gpu/relational/query/table.js'
import type { TypedNode } from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'

/**
 * Tables of a node's result, one at least, each held by the run: whoever takes it drops it. All are of the same columns. Nothing is done
 * before the first is asked for.
 */
export type Tables = AsyncGenerator<Table, void, undefined>

/** All of a node's result as one table. */
export async function collect(run: QueryRun, node: TypedNode, tables: Tables): Promise<Table> {
  const collected: Table[] = []
  for await (const table of tables) collected.push(table)
  if (collected.length === 1) return collected[0]!
  return run.replace(node, collected, () => concatenate(run.work, collected))
}
