import type { QueryExplanation } from '../../protocol/query/explanation.js'
import { inputsOf, type TypedNode } from '../../protocol/query/typed.js'
import type { QueryRun } from './query-run.js'

/** The tree of a query that was carried out, with the figures of its steps. */
export function explain(run: QueryRun, node: TypedNode): QueryExplanation {
  const { rows, steps, bytes, milliseconds, method, selections } = run.figures(node)
  return {
    op: node.op,
    path: node.path,
    method: method ?? selections.method,
    selection: selections.explain(),
    estimatedRows: Math.round(estimateRows(run, node)),
    rows,
    tables: steps,
    bytes,
    milliseconds,
    inputs: inputsOf(node).map((input) => explain(run, input)),
  }
}

/** Rows of a group, where nothing is known of the keys. */
const ROWS_PER_GROUP = 10

function estimateRows(run: QueryRun, node: TypedNode): number {
  const [first = 0, second = 0] = inputsOf(node).map((input) => estimateRows(run, input))
  switch (node.op) {
    case 'scan':
      return run.relations.get(node.relation)?.rows ?? 0
    case 'where':
      return first * (run.figures(node).selections.estimatedShare ?? 1)
    case 'product':
      return first * second
    case 'join':
      // As if the smaller side had each key once.
      return node.kind === 'semi' || node.kind === 'anti' ? first / 2 : Math.max(first, second)
    case 'union':
      return first + second
    case 'intersect':
      return Math.min(first, second) / 2
    case 'except':
      return first / 2
    case 'distinct':
      return first / ROWS_PER_GROUP
    case 'groupBy':
      return node.keys.length === 0 ? 1 : first / ROWS_PER_GROUP
    case 'limit':
      return Math.min(node.rows, Math.max(0, first - node.offset))
    default:
      return first
  }
}
