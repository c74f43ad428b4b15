import { columnsOf } from '../../../gpu/relational/selection/condition-columns.js'
import type { Condition } from '../../../gpu/relational/selection/selection-types.js'
import { columnsRead, type TypedExpression } from '../../../protocol/query/typed.js'
import { normalise } from '../conditions/normalise.js'
import type { NodeOf } from '../node-of.js'
import type { EstimatedColumn } from './column-sample.js'
import { bitsOf, shareOfAll } from './condition-shares.js'
import {
  changed,
  type NodeColumn,
  type NodeEstimate,
  repeated,
  type Source,
  weightOf,
} from './node-estimate.js'

/** The conditions on columns of one source, whose sample can tell which of its rows satisfy them. */
interface Part {
  readonly key: symbol
  readonly conditions: readonly Condition[]
  readonly bits: Uint32Array
}

/** What conditions leave of a source. */
interface Left {
  /** The share of the node's rows. */
  readonly share: number
  readonly source: Source
  /** Whether the sample has none of the rows that are left, so that it says nothing of the columns in the conditions. */
  readonly isUnseen: boolean
}

/** The rows of a node for which a condition is true. */
export function estimateWhere({ condition, kept }: NodeOf<'where'>, input: NodeEstimate): NodeEstimate {
  const conditions = conjunction(condition, input.columns)
  if (conditions === undefined) return chosen({ ...input, rows: 0, sources: withoutRows(input) }, kept)
  const { columns } = input
  const parts = partsOf(conditions, columns)
  const told = new Set(parts.flatMap((part) => part.conditions))
  // As if nothing had been done to the rows of the samples.
  const others = shareOfAll(
    conditions.filter((condition) => !told.has(condition)),
    columns,
  )
  const left = new Map(parts.map((part) => [part.key, leftBy(part, columns, input)]))
  const share = [...left.values()].reduce((product, part) => product * part.share, others)
  const sources = [...input.sources].map(([key, source]) => {
    const own = left.get(key)
    const rest = own === undefined || own.share === 0 ? share : share / own.share
    return [key, repeated(own?.source ?? source, Math.min(1, rest))] as const
  })
  const unseen = new Set(
    parts.filter(({ key }) => left.get(key)!.isUnseen).flatMap((part) => part.conditions.flatMap(columnsOf)),
  )
  const bounds = new Map(conditions.flatMap(boundOf))
  const narrowed = input.columns.map((column, number) => ({
    ...column,
    distinct: Math.min(column.distinct, bounds.get(number) ?? Number.POSITIVE_INFINITY),
    from: unseen.has(number) ? undefined : column.from,
  }))
  return chosen({ ...input, rows: input.rows * share, columns: narrowed, sources: new Map(sources) }, kept)
}

function chosen(node: NodeEstimate, kept: readonly number[]): NodeEstimate {
  return { ...node, columns: kept.map((column) => node.columns[column]!) }
}

function withoutRows({ sources }: NodeEstimate): ReadonlyMap<symbol, Source> {
  return new Map([...sources].map(([key, source]) => [key, repeated(source, 0)]))
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

function partsOf(conditions: readonly Condition[], columns: readonly EstimatedColumn[]): readonly Part[] {
  const parts = new Map<symbol, Part>()
  for (const condition of conditions) {
    const sources = new Set(columnsOf(condition).map((column) => columns[column]!.from?.source))
    const [key] = sources
    const bits = sources.size === 1 && key !== undefined ? bitsOf(condition, columns) : undefined
    if (key === undefined || bits === undefined) continue
    const part = parts.get(key)
    parts.set(key, {
      key,
      conditions: [...(part?.conditions ?? []), condition],
      bits: part === undefined ? bits : part.bits.map((word, i) => word & bits[i]!),
    })
  }
  return [...parts.values()]
}

function leftBy(
  { key, conditions, bits }: Part,
  columns: readonly EstimatedColumn[],
  node: NodeEstimate,
): Left {
  const source = node.sources.get(key)!
  const weight = weightOf(source)
  const satisfied = (row: number) => (bits[row >> 5]! >>> (row & 31)) & 1
  const hits = source.weights.reduce((sum, each, row) => sum + each * satisfied(row), 0)
  const share = weightedShare(source, weight, hits, shareOfAll(conditions, columns))
  const outer = node.rows === 0 ? 0 : Math.max(0, 1 - weight / node.rows)
  const ofAll = (1 - outer) * share + (conditions.every(holdsForNulls) ? outer : 0)
  if (hits === 0) return { share: ofAll, source: repeated(source, share), isUnseen: true }
  const scaled = (weight * share) / hits
  const own = changed(source, (row) => ({ weight: satisfied(row) * scaled, presence: satisfied(row) }))
  return { share: ofAll, source: own, isUnseen: false }
}

/** Where rows of the sample do not stand for equally many each, they say what is left of them, and one more what would be otherwise. */
function weightedShare({ weights }: Source, weight: number, hits: number, otherwise: number): number {
  const [first] = weights
  if (weight === 0 || weights.every((each) => each === first)) return otherwise
  const mean = weight / weights.reduce((count, each) => (each > 0 ? count + 1 : count), 0)
  return (hits + mean * otherwise) / (weight + mean)
}

function holdsForNulls(condition: Condition): boolean {
  if (condition.kind === 'any') return condition.branches.some((branch) => branch.every(holdsForNulls))
  return condition.kind === 'values' && condition.set.nulls
}

/** Different values that a condition leaves of its column. */
function boundOf(condition: Condition): readonly (readonly [column: number, distinct: number])[] {
  if (condition.kind !== 'values') return []
  const { column, set } = condition
  return [[column, set.intervals.reduce((sum, { low, high }) => sum + Number(high - low) + 1, 0)]]
}
