import type { ColumnDomain } from '../conditions/column-domain.js'
import type { ColumnSample, EstimatedColumn } from './column-sample.js'

/** Rows that a sample was drawn from, as a node has them: those of a relation, or of its groups. */
export interface Source {
  /** Rows that the sample was drawn from. */
  readonly of: number
  /** For each row of the sample: the node's rows that it stands for. Where they are less than the node's, the others are null. */
  readonly weights: Float64Array
}

/** Where the values of a column come from. */
export type SampledOrigin = NonNullable<EstimatedColumn['from']>

/** A column of a node. */
export interface NodeColumn extends EstimatedColumn {
  /** Different values at most, null not counted, whatever the sample has; infinite where nobody knows. */
  readonly distinct: number
}

/** What is thought of a node's rows before it runs. */
export interface NodeEstimate {
  readonly rows: number
  readonly columns: readonly NodeColumn[]
  readonly sources: ReadonlyMap<symbol, Source>
  /** Columns of sources, given any more or not, that are equal in each row in which both have values: each pair both ways. */
  readonly equal: readonly (readonly [SampledOrigin, SampledOrigin])[]
}

/** Columns of a node that one sample has. */
export interface Sampled {
  readonly key: symbol
  readonly source: Source
  readonly samples: readonly ColumnSample[]
}

/** Undefined of columns that are of several sources, or of none. */
export function sampledOf(
  { sources }: NodeEstimate,
  columns: readonly EstimatedColumn[],
): Sampled | undefined {
  const [key, ...others] = new Set(columns.map(({ from }) => from?.source))
  const source = key && sources.get(key)
  if (key === undefined || source === undefined || others.length > 0) return undefined
  return { key, source, samples: columns.map(({ from }) => from!.sample) }
}

/** A source of which a node has so many rows, whichever they are. */
export function evenSource(sample: ColumnSample, rows: number): Source {
  return { of: sample.of, weights: new Float64Array(sample.rows).fill(rows / Math.max(1, sample.rows)) }
}

/** Whether the sample is all there is. */
export function isComplete({ of, weights }: Source): boolean {
  return weights.length >= of
}

/** Rows that each row of a sample stands for where all of them are there once. */
export function scaleOf({ of, weights }: Source): number {
  return of / Math.max(1, weights.length)
}

/** What a node's rows have together of something that each row of the sample has so much of. */
export function weightedSum({ weights }: Source, amounts: Float64Array): number {
  return weights.reduce((sum, weight, row) => sum + weight * amounts[row]!, 0)
}

export function sumOf(amounts: Float64Array): number {
  return amounts.reduce((sum, each) => sum + each, 0)
}

/** The source with each of the node's rows repeated so often on average, whatever values it has. */
export function repeated(source: Source, times: number): Source {
  return { ...source, weights: source.weights.map((weight) => weight * times) }
}

/** Some of the node's rows, whichever they are. */
export function repeatedAll(node: NodeEstimate, times: number): NodeEstimate {
  const sources = new Map([...node.sources].map(([key, source]) => [key, repeated(source, times)]))
  return { ...node, rows: node.rows * times, sources }
}

/** A column whose values nobody has a sample of. */
export function unknownColumn(domain: ColumnDomain, distinct: number = Number.POSITIVE_INFINITY): NodeColumn {
  const { type, nullable, dictionary } = domain
  const least = Math.min(distinct, mostDistinct(domain))
  return { type, nullable, dictionary, from: undefined, distinct: least }
}

/** Different values that a column may have by its type and dictionary. */
function mostDistinct({ type, dictionary }: ColumnDomain): number {
  if (type === 'boolean') return 2
  return type === 'string' && dictionary !== undefined ? dictionary.size : Number.POSITIVE_INFINITY
}
