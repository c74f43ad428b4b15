import { JOIN_ALGORITHMS } from '../../gpu/relational/joins/join-types.js'
import type { JoinExplanation, QueryExplanation } from '../../protocol/query/explanation.js'
import { inputsOf, type TypedNode } from '../../protocol/query/typed.js'
import type { QueryRun } from './query-run.js'
import type { StepFigures } from './step-figures.js'

/** The tree of a query that was carried out, with the figures of its steps. */
export function explain(run: QueryRun, node: TypedNode): QueryExplanation {
  const { rows, steps, bytes, milliseconds, method, join, selections } = run.figures(node)
  return {
    op: node.op,
    path: node.path,
    method: method ?? selections.method,
    join: join && explainJoin(join),
    selection: selections.explain(),
    estimatedRows: Math.round(estimateRows(run, node)),
    rows,
    tables: steps,
    bytes,
    milliseconds,
    copyShare: copyShare(run, bytes, milliseconds),
    inputs: inputsOf(node).map((input) => explain(run, input)),
  }
}

const NANOSECONDS = 1e6
const WORD_BYTES = 4

function explainJoin({ algorithm, costs }: NonNullable<StepFigures['join']>): JoinExplanation {
  const all = JOIN_ALGORITHMS.flatMap((algorithm) => {
    const nanoseconds = costs[algorithm]
    return nanoseconds === undefined ? [] : [{ algorithm, estimatedMilliseconds: nanoseconds / NANOSECONDS }]
  })
  const alternatives = all
    .filter((other) => other.algorithm !== algorithm)
    .sort((a, b) => a.estimatedMilliseconds - b.estimatedMilliseconds)
  const estimatedMilliseconds = (costs[algorithm] ?? 0) / NANOSECONDS
  return { algorithm, estimatedMilliseconds, alternatives }
}

/** Default costs say nothing of the adapter at hand. */
function copyShare({ work }: QueryRun, bytes: number, milliseconds: number): number | undefined {
  const copy = work.device.selectionCosts?.copy
  if (copy === undefined || milliseconds === 0) return undefined
  return ((bytes / WORD_BYTES) * copy) / (milliseconds * NANOSECONDS)
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
