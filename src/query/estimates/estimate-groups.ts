import { columnsRead, type TypedExpression } from '../../../protocol/query/typed.js'
import type { NodeOf } from '../node-of.js'
import { distinctRows } from './distinct-rows.js'
import { COMMON_ROWS } from './key-matches.js'
import { type NodeColumn, type NodeEstimate, type Source, unknownColumn } from './node-estimate.js'
import { tuplePlaces } from './tuple-places.js'

/** A row for each group. */
export function estimateGroups({ keys, columns }: NodeOf<'groupBy'>, input: NodeEstimate): NodeEstimate {
  const ofKeys = keys.map((key) => computed(key, input))
  const aggregates = columns
    .slice(keys.length)
    .map(({ type, nullable }) => unknownColumn({ type, nullable, dictionary: undefined }))
  if (keys.length === 0) return { ...input, rows: 1, columns: aggregates, sources: new Map() }
  const grouped = estimateDistinct({ ...input, columns: ofKeys })
  return { ...grouped, columns: [...grouped.columns, ...aggregates] }
}

/** Each row once. */
export function estimateDistinct(input: NodeEstimate): NodeEstimate {
  const { columns } = input
  const rows = distinctRows(input, columns)
  const only = columns.length === 1 ? rows : Number.POSITIVE_INFINITY
  const sources = new Map<symbol, Source>()
  for (const key of new Set(columns.map(({ from }) => from?.source))) {
    if (key === undefined) continue
    const own = columns.filter(({ from }) => from?.source === key)
    sources.set(key, groupsOf(input.sources.get(key)!, own, rows))
  }
  return {
    ...input,
    rows,
    columns: columns.map((column) => ({ ...column, distinct: Math.min(column.distinct, only) })),
    sources,
  }
}

/** The value of an expression as a column: that itself, or one with no more values than what it is made of has together. */
export function computed(expression: TypedExpression, input: NodeEstimate): NodeColumn {
  if (expression.kind === 'column') return input.columns[expression.index]!
  const { type, nullable } = expression
  const read = [...new Set(columnsRead(expression))].map((column) => input.columns[column]!)
  const distinct = read.length === 0 ? 1 : distinctRows(input, read)
  return unknownColumn({ type, nullable, dictionary: undefined }, distinct)
}

/** A sample of groups: one row for each that the sample has. Those that it has often stand for themselves, the others for those that it has not. */
function groupsOf(source: Source, columns: readonly NodeColumn[], rows: number): Source {
  const { places } = tuplePlaces(
    columns.map(({ from }) => from!.sample),
    true,
  )
  const firsts = new Map<number, number>()
  const grouped = new Float64Array(places.length)
  places.forEach((place, row) => {
    if (source.present[row] === 0) return
    const first = firsts.get(place) ?? row
    firsts.set(place, first)
    grouped[first]! += source.grouped?.[row] ?? 1
  })
  const isCommon = (row: number) => grouped[row]! >= COMMON_ROWS
  const common = Math.min(rows, [...firsts.values()].filter(isCommon).length)
  const rare = (rows - common) / Math.max(1, firsts.size - common)
  return {
    of: Math.max(rows, firsts.size) * (places.length / Math.max(1, firsts.size)),
    present: grouped.map((count) => (count > 0 ? 1 : 0)),
    weights: grouped.map((count, row) => (count === 0 ? 0 : isCommon(row) ? 1 : rare)),
    grouped,
  }
}
