import { columnsRead, type NodeOf, type TypedExpression } from '../../../protocol/query/typed.js'
import { distinctRows } from './distinct-rows.js'
import { COMMON_ROWS } from './key-matches.js'
import {
  type NodeColumn,
  type NodeEstimate,
  type Sampled,
  type Source,
  sampledOf,
  unknownColumn,
} from './node-estimate.js'
import { sampleKeys, tallyOf } from './sample-keys.js'

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
  for (const key of input.sources.keys()) {
    const own = sampledOf(
      input,
      columns.filter(({ from }) => from?.source === key),
    )
    if (own !== undefined) sources.set(key, groupsOf(own, rows))
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
function groupsOf({ source, samples }: Sampled, rows: number): Source {
  const numbered = sampleKeys(samples, true)
  const { sampled } = tallyOf(numbered, source)
  const groups = sampled.reduce((groups, rows) => (rows > 0 ? groups + 1 : groups), 0)
  const common = Math.min(rows, sampled.filter((rows) => rows >= COMMON_ROWS).length)
  const rare = (rows - common) / Math.max(1, groups - common)
  const seen = new Set<number>()
  const weights = source.weights.map((weight, row) => {
    const key = numbered.keys[row]!
    if (weight === 0 || seen.has(key)) return 0
    seen.add(key)
    return sampled[key]! >= COMMON_ROWS ? 1 : rare
  })
  return { of: Math.max(1, rows, groups) * (weights.length / Math.max(1, groups)), weights }
}
