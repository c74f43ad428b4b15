import type { ColumnFacts } from '../conditions/column-domain.js'
import type { ColumnSample } from './column-sample.js'

/** Rows that a sample was drawn from, as a node has them: those of a relation, or of its groups. */
export interface Source {
  /** Rows that the sample was drawn from. */
  readonly of: number
  /** For each row of the sample: the share of rows like it that the node has, be it once or more often. */
  readonly present: Float64Array
  /** For each row of the sample: the node's rows that it stands for. Where they are less than the node's, the others are null. */
  readonly weights: Float64Array
  /** Of groups, for each row of the sample: how many the sample had in its group. */
  readonly grouped: Float64Array | undefined
}

/** Where the values of a column come from. */
export interface ColumnOrigin {
  readonly source: symbol
  readonly sample: ColumnSample
  /** Different values in all that the sample was drawn from, where an index knows. */
  readonly indexed: number | undefined
}

/** A column of a node. */
export interface NodeColumn extends ColumnFacts {
  /** Undefined of values that no sample has. */
  readonly from: ColumnOrigin | undefined
  /** Different values at most, null not counted, whatever the sample has; infinite where nobody knows. */
  readonly distinct: number
}

/** What is thought of a node's rows before it runs. */
export interface NodeEstimate {
  readonly rows: number
  readonly columns: readonly NodeColumn[]
  readonly sources: ReadonlyMap<symbol, Source>
  /** Columns of sources, given any more or not, that are equal in each row in which both have values. */
  readonly equal: readonly EqualColumns[]
}

export type EqualColumns = readonly [ColumnOrigin, ColumnOrigin]

/** Different values of a column of which nothing is known, as one in so many rows. */
export const ROWS_PER_VALUE = 10

/** Rows that each row of a sample stands for where all of them are there once. */
function scaleOf({ of, present }: Source): number {
  return of / Math.max(1, present.length)
}

/** Whether the sample is all there is. */
export function isComplete({ of, present }: Source): boolean {
  return present.length >= of
}

/** The source with a factor for the weight, and one for the presence, of each row. */
export function changed(
  source: Source,
  factors: (row: number) => { readonly weight: number; readonly presence: number },
): Source {
  const weights = source.weights.slice()
  const present = source.present.slice()
  for (let row = 0; row < weights.length; row++) {
    const { weight, presence } = factors(row)
    weights[row]! *= weight
    present[row]! *= presence
  }
  return { ...source, present, weights }
}

/**
 * The source with each of the node's rows repeated so often on average, whatever values it has.
 * @param share of the rows that are there at all
 */
export function repeated(source: Source, times: number, share: number = Math.min(1, times)): Source {
  if (share >= 1) return changed(source, () => ({ weight: times, presence: 1 }))
  const scale = scaleOf(source)
  return changed(source, (row) => {
    const copies = source.present[row] === 0 ? 1 : source.weights[row]! / (scale * source.present[row]!)
    return { weight: times, presence: 1 - (1 - share) ** Math.max(1, copies) }
  })
}

/** Some of the node's rows, whichever they are. */
export function repeatedAll(node: NodeEstimate, times: number): NodeEstimate {
  const sources = new Map([...node.sources].map(([key, source]) => [key, repeated(source, times)]))
  return { ...node, rows: node.rows * times, sources }
}

/** The node's rows in which a source has a row. */
export function weightOf({ weights }: Source): number {
  return weights.reduce((sum, weight) => sum + weight, 0)
}

/** A column whose values nobody has a sample of. */
export function unknownColumn(facts: ColumnFacts, distinct: number = Number.POSITIVE_INFINITY): NodeColumn {
  const { type, nullable, dictionary } = facts
  const least = Math.min(distinct, domainOf(facts))
  return { type, nullable, dictionary, from: undefined, distinct: least }
}

/** Different values that a column may have by its type and dictionary. */
export function domainOf({ type, dictionary }: ColumnFacts): number {
  if (type === 'boolean') return 2
  return type === 'string' && dictionary !== undefined ? dictionary.size : Number.POSITIVE_INFINITY
}
