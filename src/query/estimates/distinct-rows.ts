import { distinctAmong, distinctCount } from './distinct-count.js'
import {
  type ColumnOrigin,
  type NodeColumn,
  type NodeEstimate,
  ROWS_PER_VALUE,
  type Source,
  weightOf,
} from './node-estimate.js'
import { tuplePlaces } from './tuple-places.js'

/** By how much combinations may be more than the values that one follows from: estimates of both are not exact. */
const FOLLOWS_WITHIN = 1.05

/** Different combinations of the values of some of a node's columns; null is a value. */
export function distinctRows(node: NodeEstimate, columns: readonly NodeColumn[]): number {
  if (node.rows <= 1) return node.rows
  const parts = partsOf(columns)
    .map((part) => ({ part, count: distinctOf(node, part) }))
    .sort((a, b) => b.count - a.count)
  if (parts.length <= 1) return Math.min(node.rows, parts[0]?.count ?? 1)
  const known = new KnownColumns(node)
  let combinations = 1
  for (const { part, count } of parts) {
    const origins = part.flatMap(({ from }) => from ?? [])
    combinations *= origins.length === 0 ? count : Math.min(count, known.more(origins))
    known.add(origins)
  }
  return distinctAmong(combinations, node.rows)
}

/** Different values, null not counted, of columns that are of one source, or of one column. */
export function distinctValues(node: NodeEstimate, columns: readonly NodeColumn[]): number {
  const bound = columns.reduce((product, { distinct }) => product * distinct, 1)
  const source = commonSource(node, columns)
  if (source === undefined) return Math.min(node.rows, Number.isFinite(bound) ? bound : unknownValues(node))
  return Math.min(bound, node.rows, sampledDistinct(source, originsOf(columns), false))
}

/** The source that has all of some columns. */
export function commonSource(node: NodeEstimate, columns: readonly NodeColumn[]): Source | undefined {
  const keys = new Set(columns.map(({ from }) => from?.source))
  const [key] = keys
  return keys.size === 1 && key !== undefined ? node.sources.get(key) : undefined
}

/** Columns whose values are known, by source: those that were counted, and what follows from them by columns that were joined. */
class KnownColumns {
  readonly #node: NodeEstimate
  readonly #known = new Map<symbol, Set<ColumnOrigin>>()

  constructor(node: NodeEstimate) {
    this.#node = node
  }

  /** Combinations of a source's columns for each of what is known of it. */
  more(origins: readonly ColumnOrigin[]): number {
    const [{ source: key }] = origins as readonly [ColumnOrigin]
    const known = [...(this.#known.get(key) ?? [])]
    const source = this.#node.sources.get(key)
    if (source === undefined) return 1
    const all = sampledDistinct(source, [...new Set([...known, ...origins])], true)
    return known.length === 0
      ? Math.max(1, all)
      : Math.max(1, all / Math.max(1, sampledDistinct(source, known, true)))
  }

  add(origins: readonly ColumnOrigin[]): void {
    for (const origin of origins) this.#knownOf(origin.source).add(origin)
    const open = this.#node.equal.flatMap(([one, other]) => [[one, other] as const, [other, one] as const])
    for (let found = true; found; ) {
      found = false
      for (const [one, other] of open) {
        if (this.#knownOf(other.source).has(other) || !this.#follows(one)) continue
        this.#knownOf(other.source).add(other)
        found = true
      }
    }
  }

  #knownOf(source: symbol): Set<ColumnOrigin> {
    const known = this.#known.get(source) ?? new Set()
    this.#known.set(source, known)
    return known
  }

  #follows(origin: ColumnOrigin): boolean {
    const known = this.#knownOf(origin.source)
    if (known.size === 0 || known.has(origin)) return known.has(origin)
    return this.more([origin]) <= FOLLOWS_WITHIN
  }
}

/** Columns by where their values come from. */
function partsOf(columns: readonly NodeColumn[]): readonly (readonly NodeColumn[])[] {
  const parts = new Map<unknown, NodeColumn[]>()
  for (const column of columns) {
    const key = column.from?.source ?? column
    parts.set(key, [...(parts.get(key) ?? []), column])
  }
  return [...parts.values()]
}

function distinctOf(node: NodeEstimate, columns: readonly NodeColumn[]): number {
  const source = commonSource(node, columns)
  const bound = columns.reduce(
    (product, { distinct, nullable }) => product * (distinct + (nullable ? 1 : 0)),
    1,
  )
  if (source === undefined) return Number.isFinite(bound) ? bound : unknownValues(node)
  const isOuter = node.rows - weightOf(source) > 0.5
  const sampled = sampledDistinct(source, originsOf(columns), true)
  return Math.max(1, Math.min(bound, sampled + (isOuter ? 1 : 0)))
}

function originsOf(columns: readonly NodeColumn[]): readonly ColumnOrigin[] {
  return columns.flatMap(({ from }) => from ?? [])
}

function unknownValues({ rows }: NodeEstimate): number {
  return Math.max(1, rows / ROWS_PER_VALUE)
}

/** Of the rows that are there at all, by those of the sample that are, as if all were equally likely to be there. */
function sampledDistinct(source: Source, origins: readonly ColumnOrigin[], withNulls: boolean): number {
  const { of, present } = source
  const { places, count } = tuplePlaces(
    origins.map(({ sample }) => sample),
    withNulls,
  )
  const counts = new Float64Array(count)
  let [sampled, nulls, presence] = [0, 0, 0]
  places.forEach((place, row) => {
    if (place < 0) nulls++
    if (place < 0 || present[row] === 0) return
    counts[place]!++
    sampled++
    presence += present[row]!
  })
  if (sampled === 0) return 0
  const rows = (of / present.length) * sampled
  const [only] = origins
  const isWhole = origins.length === 1 && sampled + (withNulls ? 0 : nulls) === present.length
  const seen = counts.filter((count) => count > 0)
  const all = isWhole && only?.indexed !== undefined ? only.indexed : distinctCount(seen, rows)
  // What is there with some probability, for as many rows as a value has.
  const share = presence / sampled
  return share >= 1 ? all : all * (1 - (1 - share) ** (rows / all))
}
