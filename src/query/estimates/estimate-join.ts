import type { JoinKind } from '../../../protocol/query/tree.js'
import type { JoinCondition } from '../../../protocol/query/typed.js'
import { distinctValues } from './distinct-rows.js'
import { type JoinSideMatches, joinMatches } from './join-matches.js'
import {
  changed,
  type EqualColumns,
  type NodeColumn,
  type NodeEstimate,
  repeated,
  type Source,
} from './node-estimate.js'

/** What is joined by, and which rows of it are wanted. */
export interface EstimatedJoin {
  readonly kind: JoinKind
  readonly condition: JoinCondition
}

/** Which of a side's rows a join gives: a row for each match, those beside the rows without one, or rows with or without a match once. */
type Given = 'pairs' | 'all' | 'matching' | 'alone'

/** The rows of a join. */
export function estimateJoin(
  { kind, condition }: EstimatedJoin,
  left: NodeEstimate,
  right: NodeEstimate,
): NodeEstimate {
  const found = joinMatches(condition, left, right)
  const columns = joinedColumns(kind, condition, left, right, found.keys)
  if (kind === 'semi' || kind === 'anti') {
    const isSemi = kind === 'semi'
    const { matched } = found.left
    const sources = sourcesOf(left, found.left, found.pairs, isSemi ? 'matching' : 'alone')
    return { ...columns, rows: isSemi ? matched : left.rows - matched, sources }
  }
  const keepsLeft = kind === 'left' || kind === 'full'
  const keepsRight = kind === 'right' || kind === 'full'
  const ofLeft = sourcesOf(left, found.left, found.pairs, keepsLeft ? 'all' : 'pairs')
  const ofRight = sourcesOf(right, found.right, found.pairs, keepsRight ? 'all' : 'pairs')
  const alone =
    (keepsLeft ? left.rows - found.left.matched : 0) + (keepsRight ? right.rows - found.right.matched : 0)
  return { ...columns, rows: found.pairs + alone, sources: new Map([...ofLeft, ...ofRight]) }
}

function sourcesOf(
  node: NodeEstimate,
  { matched, ofSources }: JoinSideMatches,
  pairs: number,
  given: Given,
): ReadonlyMap<symbol, Source> {
  const share = node.rows === 0 ? 0 : matched / node.rows
  const often = node.rows === 0 ? 0 : pairs / node.rows
  return new Map(
    [...node.sources].map(([key, source]) => {
      const own = ofSources.get(key)
      const made =
        own === undefined ? evenly(source, often, share, given) : byRow(source, own, pairs, matched, given)
      return [key, made]
    }),
  )
}

/** As if matches had nothing to do with the values of the source. */
function evenly(source: Source, often: number, share: number, given: Given): Source {
  switch (given) {
    case 'pairs':
      return repeated(source, often, share)
    case 'all':
      return repeated(source, often + 1 - share, 1)
    case 'matching':
      return repeated(source, share)
    case 'alone':
      return repeated(source, 1 - share)
  }
}

/** Each row of the sample by what it matches, brought to what was estimated of all. */
function byRow(
  source: Source,
  { matches, chance }: { readonly matches: Float64Array; readonly chance: Float64Array },
  pairs: number,
  matched: number,
  given: Given,
): Source {
  const sum = (values: Float64Array) =>
    values.reduce((sum, each, row) => sum + each * source.weights[row]!, 0)
  const [ofMatches, ofChance] = [sum(matches), sum(chance)]
  const more = ofMatches === 0 ? 0 : pairs / ofMatches
  const likelier = ofChance === 0 ? 0 : matched / ofChance
  return changed(source, (row) => {
    const found = matches[row]! * more
    const some = Math.min(1, chance[row]! * likelier)
    switch (given) {
      case 'pairs':
        return { weight: found, presence: some }
      case 'all':
        return { weight: found + 1 - some, presence: 1 }
      case 'matching':
        return { weight: some, presence: some }
      case 'alone':
        return { weight: 1 - some, presence: 1 - some }
    }
  })
}

/**
 * The columns of a join, and which are equal. Those that are joined by equality have no more values than both sides have together.
 * @param common different values that both sides have, of one pair of columns, if that is known
 */
function joinedColumns(
  kind: JoinKind,
  { pairs, width }: JoinCondition,
  left: NodeEstimate,
  right: NodeEstimate,
  common: number | undefined,
): Pick<NodeEstimate, 'columns' | 'equal'> {
  const isHalf = kind === 'semi' || kind === 'anti'
  const [ofLeft, ofRight] = [[...left.columns], [...right.columns]]
  const equal: EqualColumns[] = []
  for (const [l, r] of width === undefined && kind !== 'anti' ? pairs : []) {
    const [one, other] = [left.columns[l]!, right.columns[r]!]
    const known = pairs.length > 1 ? undefined : common
    const distinct = known ?? Math.min(distinctValues(left, [one]), distinctValues(right, [other]))
    if (kind !== 'left' && kind !== 'full') bound(ofLeft, l, distinct)
    if (kind !== 'right' && kind !== 'full') bound(ofRight, r, distinct)
    if (one.from !== undefined && other.from !== undefined) equal.push([one.from, other.from])
  }
  if (isHalf) return { columns: ofLeft, equal: left.equal }
  const outer = (columns: readonly NodeColumn[], isOuter: boolean) =>
    isOuter ? columns.map((column) => ({ ...column, nullable: true })) : columns
  return {
    columns: [
      ...outer(ofLeft, kind === 'right' || kind === 'full'),
      ...outer(ofRight, kind === 'left' || kind === 'full'),
    ],
    equal: [...left.equal, ...right.equal, ...equal],
  }
}

function bound(columns: NodeColumn[], number: number, distinct: number): void {
  const column = columns[number]!
  columns[number] = { ...column, distinct: Math.min(column.distinct, distinct) }
}
