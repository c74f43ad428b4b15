import type { QueryExplanation } from '../../protocol/query/explanation.js'
import { inputsOf, type TypedExpression, type TypedNode } from '../../protocol/query/typed.js'
import type { QueryRun } from './query-run.js'

/** The tree of a query that was carried out, with the figures of its steps. */
export function explain(run: QueryRun, node: TypedNode): QueryExplanation {
  const { rows, steps, bytes, milliseconds, method } = run.figures(node)
  return {
    op: node.op,
    path: node.path,
    method,
    estimatedRows: Math.round(estimateRows(run, node)),
    rows,
    tables: steps,
    bytes,
    milliseconds,
    inputs: inputsOf(node).map((input) => explain(run, input)),
  }
}

/** Shares of rows for which a condition is thought to be true: nothing is known of the values. */
const SELECTIVITY = { equal: 0.1, range: 1 / 3, other: 0.5 }

/** Rows of a group, where nothing is known of the keys. */
const ROWS_PER_GROUP = 10

function estimateRows(run: QueryRun, node: TypedNode): number {
  const [first = 0, second = 0] = inputsOf(node).map((input) => estimateRows(run, input))
  switch (node.op) {
    case 'scan':
      return run.relations.get(node.relation)?.rows ?? 0
    case 'where':
      return first * selectivity(node.condition)
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

function selectivity(condition: TypedExpression): number {
  switch (condition.kind) {
    case 'and':
      return selectivity(condition.args[0]) * selectivity(condition.args[1])
    case 'or':
      return Math.min(1, selectivity(condition.args[0]) + selectivity(condition.args[1]))
    case 'not':
      return 1 - selectivity(condition.args[0])
    case 'comparison':
      if (condition.op === '=') return SELECTIVITY.equal
      return condition.op === '<>' ? 1 - SELECTIVITY.equal : SELECTIVITY.range
    default:
      return SELECTIVITY.other
  }
}
