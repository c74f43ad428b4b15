import { JOIN_ALGORITHMS, type JoinAlgorithm } from '../../gpu/relational/joins/join-types.js'
import type { JoinExplanation, QueryExplanation } from '../../protocol/query/explanation.js'
import { inputsOf, type TypedNode } from '../../protocol/query/typed.js'
import { estimateTree } from './estimates/estimate-tree.js'
import { readAllSamples } from './estimates/sampled-columns.js'
import type { QueryRun, StepFigures } from './query-run.js'

/** The tree of a query that was carried out, with the figures of its steps beside what was to be expected of them. */
export async function explain(run: QueryRun, root: TypedNode): Promise<QueryExplanation> {
  await readAllSamples(run, root)
  return explainNode(run, root, estimateTree(root, run), new Set())
}

/** @param shown nodes that were explained already, at another place */
function explainNode(
  run: QueryRun,
  node: TypedNode,
  estimates: ReadonlyMap<TypedNode, number>,
  shown: Set<TypedNode>,
): QueryExplanation {
  const figures = run.figures(node)
  if (shown.has(node)) return explainAgain(node, figures.rows, estimates)
  shown.add(node)
  const { rows, steps, bytesRead, bytesWritten, milliseconds, method, join, selections } = figures
  return {
    op: node.op,
    path: node.path,
    method: method ?? selections.method,
    join: join && explainJoin(join),
    selection: selections.explain(),
    estimatedRows: Math.round(estimates.get(node) ?? 0),
    rows,
    tables: steps,
    bytesRead,
    bytesWritten,
    milliseconds,
    copyShare: copyShare(run, figures),
    inputs: inputsOf(node).map((input) => explainNode(run, input, estimates, shown)),
  }
}

/** What several operators take is made once. */
function explainAgain(
  node: TypedNode,
  rows: number,
  estimates: ReadonlyMap<TypedNode, number>,
): QueryExplanation {
  const { op, path } = node
  const estimatedRows = Math.round(estimates.get(node) ?? 0)
  const nothing = { tables: 0, bytesRead: 0, bytesWritten: 0, milliseconds: 0, inputs: [] }
  return { op, path, method: `as ${path}`, estimatedRows, rows, ...nothing }
}

const NANOSECONDS = 1e6
/** A word that is copied is read and written. */
const COPIED_WORD_BYTES = 8

function explainJoin({ algorithm, costs }: NonNullable<StepFigures['join']>): JoinExplanation {
  const estimate = (algorithm: JoinAlgorithm) => {
    return { algorithm, estimatedMilliseconds: (costs[algorithm] ?? 0) / NANOSECONDS }
  }
  const alternatives = JOIN_ALGORITHMS.filter((other) => other !== algorithm && costs[other] !== undefined)
    .map(estimate)
    .sort((a, b) => a.estimatedMilliseconds - b.estimatedMilliseconds)
  return { ...estimate(algorithm), alternatives }
}

/** Default costs say nothing of the adapter at hand. */
function copyShare(
  { work }: QueryRun,
  { bytesRead, bytesWritten, milliseconds }: StepFigures,
): number | undefined {
  const copy = work.device.selectionCosts?.copy
  if (copy === undefined || milliseconds === 0) return undefined
  return (((bytesRead + bytesWritten) / COPIED_WORD_BYTES) * copy) / (milliseconds * NANOSECONDS)
}
