import { type Condition, columnsOf } from '../../../gpu/relational/selection/selection-types.js'
import { columnsRead, type NodeOf, type TypedExpression } from '../../../protocol/query/typed.js'
import { normalise } from '../conditions/normalise.js'
import { bitsOf, shareOfAll } from './condition-shares.js'
import { COMMON_ROWS } from './key-matches.js'
import {
  type NodeColumn,
  type NodeEstimate,
  repeated,
  repeatedAll,
  sampledOf,
  sumOf,
} from './node-estimate.js'

/** Conditions on columns of one source, whose sample can tell which of its rows satisfy them. */
interface Part {
  readonly key: symbol
  readonly conditions: readonly Condition[]
  readonly bits: Uint32Array
}

/** The rows of a node for which a condition is true. */
export function estimateWhere({ condition, kept }: NodeOf<'where'>, input: NodeEstimate): NodeEstimate {
  const conditions = conjunction(condition, input.columns)
  const chosen = conditions === undefined ? repeatedAll(input, 0) : satisfying(conditions, input)
  return { ...chosen, columns: kept.map((column) => chosen.columns[column]!) }
}

/** Undefined where no row satisfies it. Strings that are computed have a dictionary only when they are. */
function conjunction(
  condition: TypedExpression,
  columns: readonly NodeColumn[],
): readonly Condition[] | undefined {
  const isOpen = columnsRead(condition).some((column) => {
    const { type, dictionary } = columns[column]!
    return type === 'string' && dictionary === undefined
  })
  if (isOpen) return [{ kind: 'expression', expression: condition }]
  const normalised = normalise(condition, columns)
  return normalised.kind === 'none' ? undefined : normalised.conditions
}

function satisfying(conditions: readonly Condition[], input: NodeEstimate): NodeEstimate {
  const parts = new Map<symbol, Part>()
  const others: Condition[] = []
  for (const condition of conditions) {
    const key = sampledOf(
      input,
      columnsOf(condition).map((column) => input.columns[column]!),
    )?.key
    const bits = key && bitsOf(condition, input.columns)
    if (key === undefined || bits === undefined) {
      others.push(condition)
      continue
    }
    const before = parts.get(key)
    parts.set(key, {
      key,
      conditions: [...(before?.conditions ?? []), condition],
      bits: bits.map((word, i) => word & (before?.bits[i] ?? -1)),
    })
  }
  // As if nothing had been done to the rows of the samples.
  const first = repeatedAll(input, shareOfAll(others, input.columns))
  return [...parts.values()].reduce(satisfyingPart, first)
}

function satisfyingPart(node: NodeEstimate, { key, conditions, bits }: Part): NodeEstimate {
  const source = node.sources.get(key)!
  const isChosen = (row: number) => (bits[row >> 5]! >>> (row & 31)) & 1
  const weights = source.weights.map((weight, row) => weight * isChosen(row))
  const [before, hits] = [sumOf(source.weights), sumOf(weights)]
  const seen = weights.reduce((count, weight) => (weight > 0 ? count + 1 : count), 0)
  const isEven = source.weights.every((weight) => weight === source.weights[0])
  // Where rows of the sample stand for different numbers of rows, these say more than how many they are.
  const share = isEven || seen < COMMON_ROWS ? shareOfAll(conditions, node.columns) : hits / before
  const outer = node.rows === 0 ? 0 : Math.max(0, 1 - before / node.rows)
  const ofAll = (1 - outer) * share + (conditions.every(holdsForNulls) ? outer : 0)
  const own =
    hits === 0
      ? repeated(source, share)
      : { ...source, weights: weights.map((weight) => (weight * before * share) / hits) }
  const given = repeatedAll(node, Math.min(1, ofAll))
  return { ...given, sources: new Map([...given.sources, [key, own]]) }
}

function holdsForNulls(condition: Condition): boolean {
  if (condition.kind === 'any') return condition.branches.some((branch) => branch.every(holdsForNulls))
  return condition.kind === 'values' && condition.set.nulls
}
