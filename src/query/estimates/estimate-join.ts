import type { JoinKind } from '../../../protocol/query/tree.js'
import type { JoinCondition } from '../../../protocol/query/typed.js'
import { distinctValues } from './distinct-rows.js'
import { joinMatches, type SideMatches } from './join-matches.js'
import type { ExpectedMatches } from './key-matches.js'
import {
  type NodeColumn,
  type NodeEstimate,
  repeated,
  type SampledOrigin,
  type Source,
  weightedSum,
} from './node-estimate.js'

/** What is joined by, and which rows of it are wanted. */
export interface EstimatedJoin {
  readonly kind: JoinKind
  readonly condition: JoinCondition
}

/** How often a join gives a row of a side, by the rows that it matches and the chance of one. */
type Given = (matches: number, chance: number) => number

const PAIRS: Given = (matches) => matches
/** With those that match nothing. */
const ALL: Given = (matches, chance) => matches + 1 - chance
/** Once. */
const MATCHING: Given = (_, chance) => chance
const ALONE: Given = (_, chance) => 1 - chance

/** The rows of a join. */
export function estimateJoin(
  { kind, condition }: EstimatedJoin,
  left: NodeEstimate,
  right: NodeEstimate,
): NodeEstimate {
  const found = joinMatches(condition, left, right)
  const columns = joinedColumns(kind, condition, left, right)
  if (kind === 'semi' || kind === 'anti') {
    return { ...columns, ...given(left, found.left, found.pairs, kind === 'semi' ? MATCHING : ALONE) }
  }
  const ofLeft = given(left, found.left, found.pairs, kind === 'left' || kind === 'full' ? ALL : PAIRS)
  const ofRight = given(right, found.right, found.pairs, kind === 'right' || kind === 'full' ? ALL : PAIRS)
  return {
    ...columns,
    rows: ofLeft.rows + ofRight.rows - found.pairs,
    sources: new Map([...ofLeft.sources, ...ofRight.sources]),
  }
}

/** What a join gives of a side. */
function given(
  node: NodeEstimate,
  { matched, ofSources }: SideMatches,
  pairs: number,
  how: Given,
): Pick<NodeEstimate, 'rows' | 'sources'> {
  const rows = node.rows === 0 ? 1 : node.rows
  // Of sources with no columns that are joined by matches have nothing to do with the values.
  const times = how(pairs / rows, matched / rows)
  const sources = [...node.sources].map(([key, source]) => {
    const own = ofSources.get(key)
    const made =
      own === undefined ? repeated(source, times) : byRow(source, scaled(source, own, pairs, matched), how)
    return [key, made] as const
  })
  return { rows: node.rows * times, sources: new Map(sources) }
}

/** Matches of each row, brought to what was estimated of all. */
function scaled(
  source: Source,
  { matches, chance }: ExpectedMatches,
  pairs: number,
  matched: number,
): ExpectedMatches {
  const factor = (values: Float64Array, all: number) => {
    const sum = weightedSum(source, values)
    return sum === 0 ? 0 : all / sum
  }
  const [more, likelier] = [factor(matches, pairs), factor(chance, matched)]
  return {
    matches: matches.map((each) => each * more),
    chance: chance.map((each) => Math.min(1, each * likelier)),
  }
}

function byRow(source: Source, { matches, chance }: ExpectedMatches, how: Given): Source {
  return { ...source, weights: source.weights.map((each, row) => each * how(matches[row]!, chance[row]!)) }
}

/** The columns of a join, and which are equal. Those that are joined by equality have no more values than both sides have. */
function joinedColumns(
  kind: JoinKind,
  { pairs, width }: JoinCondition,
  left: NodeEstimate,
  right: NodeEstimate,
): Pick<NodeEstimate, 'columns' | 'equal'> {
  const [ofLeft, ofRight] = [[...left.columns], [...right.columns]]
  const equal: (readonly [SampledOrigin, SampledOrigin])[] = []
  for (const [l, r] of width === undefined && kind !== 'anti' ? pairs : []) {
    const [one, other] = [left.columns[l]!, right.columns[r]!]
    const distinct = Math.min(distinctValues(left, [one]), distinctValues(right, [other]))
    if (kind !== 'left' && kind !== 'full') bound(ofLeft, l, distinct)
    if (kind !== 'right' && kind !== 'full') bound(ofRight, r, distinct)
    if (one.from && other.from) equal.push([one.from, other.from], [other.from, one.from])
  }
  if (kind === 'semi' || kind === 'anti') return { columns: ofLeft, equal: left.equal }
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
