import { getOrInsert } from '../../../protocol/get-or-insert.js'
import type { ColumnSample } from './column-sample.js'
import { distinctAmong, distinctCount } from './distinct-count.js'
import {
  type NodeColumn,
  type NodeEstimate,
  type SampledOrigin,
  type Source,
  sampledOf,
  scaleOf,
  sumOf,
} from './node-estimate.js'
import { sampleKeys, tallyOf } from './sample-keys.js'

/** Different values of columns of which nothing is known, as one in so many rows. */
const ROWS_PER_VALUE = 10
/** By how much combinations may be more than the values that one follows from: estimates of both are not exact. */
const FOLLOWS_WITHIN = 1.05

/** Different combinations of the values of some of a node's columns; null is a value. */
export function distinctRows(node: NodeEstimate, columns: readonly NodeColumn[]): number {
  if (node.rows <= 1) return node.rows
  const parts = partsOf(columns)
    .map((part) => ({ origins: part.flatMap(({ from }) => from ?? []), count: distinctOf(node, part, true) }))
    .sort((a, b) => b.count - a.count)
  if (parts.length === 1) return Math.min(node.rows, parts[0]!.count)
  const known = new Set<SampledOrigin>()
  let combinations = 1
  for (const { origins, count } of parts) {
    combinations *= origins.length === 0 ? count : Math.min(count, combinationsFor(node, known, origins))
    for (const origin of origins) known.add(origin)
    addFollowing(node, known)
  }
  return distinctAmong(combinations, node.rows)
}

/** Different values, null not counted, of columns that are of one source, or of one column. */
export function distinctValues(node: NodeEstimate, columns: readonly NodeColumn[]): number {
  return Math.min(node.rows, distinctOf(node, columns, false))
}

function distinctOf(node: NodeEstimate, columns: readonly NodeColumn[], withNulls: boolean): number {
  const bound = columns.reduce((product, { distinct, nullable }) => {
    return product * Math.max(1, distinct + (withNulls && nullable ? 1 : 0))
  }, 1)
  const sampled = sampledOf(node, columns)
  if (sampled !== undefined)
    return Math.min(bound, sampledDistinct(sampled.source, sampled.samples, withNulls))
  return Number.isFinite(bound) ? bound : Math.max(1, node.rows / ROWS_PER_VALUE)
}

/** Combinations of a source's columns for each of what is known of it. */
function combinationsFor(
  { sources }: NodeEstimate,
  known: ReadonlySet<SampledOrigin>,
  [...origins]: readonly SampledOrigin[],
): number {
  const source = sources.get(origins[0]!.source)
  if (source === undefined) return 1
  const before = [...known].filter((origin) => origin.source === origins[0]!.source)
  const countOf = (origins: readonly SampledOrigin[]) => {
    const samples = [...new Set(origins)].map(({ sample }) => sample)
    return samples.length === 0 ? 1 : Math.max(1, sampledDistinct(source, samples, true))
  }
  return Math.max(1, countOf([...before, ...origins]) / countOf(before))
}

/** Adds what follows from known columns by columns that were joined. */
function addFollowing(node: NodeEstimate, known: Set<SampledOrigin>): void {
  for (let found = true; found; ) {
    found = false
    for (const [one, other] of node.equal) {
      if (known.has(other) || combinationsFor(node, known, [one]) > FOLLOWS_WITHIN) continue
      known.add(other)
      found = true
    }
  }
}

/** Columns by where their values come from. */
function partsOf(columns: readonly NodeColumn[]): readonly (readonly NodeColumn[])[] {
  const parts = new Map<unknown, NodeColumn[]>()
  for (const column of columns) {
    getOrInsert(parts, column.from?.source ?? column, () => []).push(column)
  }
  return [...parts.values()]
}

/** Of the rows that are there at all, by those of the sample that are, as if all were equally likely to be there. */
function sampledDistinct(source: Source, samples: readonly ColumnSample[], withNulls: boolean): number {
  const tally = tallyOf(sampleKeys(samples, withNulls), source)
  const sampled = sumOf(tally.sampled)
  if (sampled === 0) return 0
  const rows = scaleOf(source) * sampled
  const all = distinctCount(
    tally.sampled.filter((count) => count > 0),
    rows,
  )
  // What is there with some probability, for as many rows as a value has.
  return all * (1 - (1 - Math.min(1, sumOf(tally.rows) / rows)) ** (rows / all))
}
