import { Table } from '../../../gpu/relational/query/table.js'
import type { NodeOf } from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'
import type { Tables } from './tables.js'

/** The columns of a relation that a query reads. */
export async function* scan(run: QueryRun, node: NodeOf<'scan'>): Tables {
  const relation = run.relation(node.relation)
  yield await run.step(node, [], () => Table.ofLiveRows(run.work, relation).choose(node.kept))
}
