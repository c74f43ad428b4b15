import { distinctAmong, distinctCount } from './distinct-count.js'
import { type NodeColumn, type NodeEstimate, ROWS_PER_VALUE, type Source, weightOf } from './node-estimate.js'
import { tuplePlaces } from './tuple-places.js'

/** Different values for each row from which on a column, whose sample has each once, is taken for a key. */
const KEY_SHARE = 0.9

/** Columns of a node whose values come from one place. */
interface Part {
  readonly source: symbol | undefined
  readonly columns: readonly NodeColumn[]
}

/** Different combinations of the values of some of a node's columns; null is a value. */
export function distinctRows(node: NodeEstimate, columns: readonly NodeColumn[]): number {
  if (node.rows <= 1) return node.rows
  const parts = independentParts(node, partsOf(columns))
  const counts = parts.map((part) => distinctOf(node, part))
  const combinations = counts.reduce((product, count) => product * count, 1)
  return counts.length > 1 ? distinctAmong(combinations, node.rows) : Math.min(node.rows, combinations)
}

/** Different values of a column, null not counted. */
export function distinctValues(node: NodeEstimate, columns: readonly NodeColumn[]): number {
  const bound = columns.reduce((product, { distinct }) => product * distinct, 1)
  const source = commonSource(node, columns)
  if (source === undefined) return Math.min(node.rows, Number.isFinite(bound) ? bound : unknownValues(node))
  return Math.min(bound, node.rows, sampledDistinct(source, columns, false))
}

/** Whether a column has each value once in what its sample was drawn from. */
export function isKey(node: NodeEstimate, column: NodeColumn): boolean {
  if (column.from === undefined) return false
  const { of } = node.sources.get(column.from.source)!
  const { values, places } = column.from.sample
  const isOnceEach = values.length > 0 && values.length === places.filter((place) => place >= 0).length
  return isOnceEach && (column.indexed ?? column.distinct) >= KEY_SHARE * of
}

/** The source that has all of some columns. */
export function commonSource(node: NodeEstimate, columns: readonly NodeColumn[]): Source | undefined {
  const keys = new Set(columns.map(({ from }) => from?.source))
  const [key] = keys
  return keys.size === 1 && key !== undefined ? node.sources.get(key) : undefined
}

function partsOf(columns: readonly NodeColumn[]): Part[] {
  const parts = new Map<symbol, { source: symbol | undefined; columns: NodeColumn[] }>()
  const seen = new Set<symbol>()
  for (const column of columns) {
    if (seen.has(column.same)) continue
    seen.add(column.same)
    const source = column.from?.source
    const part = parts.get(source ?? column.same) ?? { source, columns: [] }
    part.columns.push(column)
    parts.set(source ?? column.same, part)
  }
  return [...parts.values()]
}

/** Without those parts whose values follow from others: of a row that a key of theirs belongs to. */
function independentParts(node: NodeEstimate, parts: readonly Part[]): readonly Part[] {
  return parts.reduce((left, part) => {
    const others = left.filter((other) => other !== part)
    const isImplied = part.source !== undefined && impliedBy(node, others).has(part.source)
    return isImplied ? others : left
  }, parts)
}

function impliedBy(node: NodeEstimate, parts: readonly Part[]): ReadonlySet<symbol> {
  const implied = new Set<symbol>()
  for (const { columns } of parts) {
    for (const column of columns) {
      for (const source of node.keys.get(column.same) ?? []) implied.add(source)
      if (column.from !== undefined && isKey(node, column)) implied.add(column.from.source)
    }
  }
  // A set is gone through with what is added to it meanwhile.
  for (const source of implied) for (const next of node.follows.get(source) ?? []) implied.add(next)
  return implied
}

function distinctOf(node: NodeEstimate, { source: key, columns }: Part): number {
  const source = key === undefined ? undefined : node.sources.get(key)
  const bound = columns.reduce(
    (product, { distinct, nullable }) => product * (distinct + (nullable ? 1 : 0)),
    1,
  )
  if (source === undefined) return Number.isFinite(bound) ? bound : unknownValues(node)
  const isOuter = node.rows - weightOf(source) > 0.5
  return Math.max(1, Math.min(bound, sampledDistinct(source, columns, true) + (isOuter ? 1 : 0)))
}

function unknownValues({ rows }: NodeEstimate): number {
  return Math.max(1, rows / ROWS_PER_VALUE)
}

/** Of the rows that are there at all, by those of the sample that are, as if each was there as likely as any other. */
function sampledDistinct(source: Source, columns: readonly NodeColumn[], withNulls: boolean): number {
  const { of, present } = source
  const { places, count } = tuplePlaces(
    columns.map(({ from }) => from!.sample),
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
  const [{ indexed } = { indexed: undefined }] = columns
  const isWhole = columns.length === 1 && sampled + (withNulls ? 0 : nulls) === present.length
  const seen = counts.filter((count) => count > 0)
  const all = isWhole && indexed !== undefined ? indexed : distinctCount(seen, rows)
  // What is there with some probability, for as many rows as a value has.
  const share = presence / sampled
  return share >= 1 ? all : all * (1 - (1 - share) ** (rows / all))
}
