import type { JoinCondition } from '../../../protocol/query/typed.js'
import { matchBand } from './band-matches.js'
import { distinctValues } from './distinct-rows.js'
import { type ExpectedMatches, matchKeys, type SampleMatches } from './key-matches.js'
import { type NodeColumn, type NodeEstimate, type Sampled, sampledOf, weightedSum } from './node-estimate.js'
import { shareKeys } from './sample-keys.js'

/** How the rows of two nodes match, by all conditions or some. */
export interface JoinMatches {
  readonly pairs: number
  readonly left: SideMatches
  readonly right: SideMatches
}

export interface SideMatches {
  /** Rows that match something. */
  readonly matched: number
  /** Of sources with columns that are joined by, where samples tell: what each row of the sample finds, compared with its others. */
  readonly ofSources: ReadonlyMap<symbol, ExpectedMatches>
}

/** Columns that are joined by, in pairs: all those of the same two sources, or one pair alone. */
interface Part {
  readonly left: NodeColumn[]
  readonly right: NodeColumn[]
}

/** Where nothing is known of its columns, a band gives as many rows as the larger side has, and half of the rows match. */
const UNKNOWN_MATCHED = 0.5

/** Estimates which rows of two nodes match. Conditions on columns of different sources have nothing to do with each other. */
export function joinMatches(
  { pairs, width }: JoinCondition,
  left: NodeEstimate,
  right: NodeEstimate,
): JoinMatches {
  const parts: Part[] = []
  for (const [l, r] of pairs) {
    const [ofLeft, ofRight] = [left.columns[l]!, right.columns[r]!]
    const same = parts.find((part) => isBeside(part.left[0]!, ofLeft) && isBeside(part.right[0]!, ofRight))
    same?.left.push(ofLeft)
    same?.right.push(ofRight)
    if (same === undefined) parts.push({ left: [ofLeft], right: [ofRight] })
  }
  const matches = parts.map((part) => matchPart(part, width, left, right))
  const all = left.rows * right.rows
  const found = matches.reduce((rows, part) => (rows * part.pairs) / Math.max(1, all), all)
  const sideOf = (name: 'left' | 'right', rows: number): SideMatches => {
    const sides = matches.map((part) => part[name])
    const matched = Math.min(found, rows, ...sides.map((side) => side.matched))
    return { matched, ofSources: together(sides) }
  }
  return { pairs: found, left: sideOf('left', left.rows), right: sideOf('right', right.rows) }
}

function isBeside(one: NodeColumn, other: NodeColumn): boolean {
  return one.from !== undefined && one.from.source === other.from?.source
}

function matchPart(
  part: Part,
  width: number | undefined,
  left: NodeEstimate,
  right: NodeEstimate,
): JoinMatches {
  const all = left.rows * right.rows
  const [l, r] = [sampledOf(left, part.left), sampledOf(right, part.right)]
  if (width !== undefined) {
    if (l !== undefined && r !== undefined) return told(l, r, matchBand(l, r, width))
    const pairs = all / Math.max(1, Math.min(left.rows, right.rows))
    return untold(pairs, UNKNOWN_MATCHED * left.rows, UNKNOWN_MATCHED * right.rows)
  }
  const [ofLeft, ofRight] = [distinctValues(left, part.left), distinctValues(right, part.right)]
  if (l !== undefined && r !== undefined) {
    const keys = shareKeys(part.left, part.right)
    return told(l, r, matchKeys({ ...l, distinct: ofLeft }, { ...r, distinct: ofRight }, keys))
  }
  // As if all values came equally often, and the side with fewer had them all from the other.
  const matchedOf = (rows: number, own: number, other: number) => rows * Math.min(1, other / Math.max(1, own))
  return untold(
    all / Math.max(1, ofLeft, ofRight),
    matchedOf(left.rows, ofLeft, ofRight),
    matchedOf(right.rows, ofRight, ofLeft),
  )
}

function told(left: Sampled, right: Sampled, found: SampleMatches): JoinMatches {
  const sideOf = ({ key, source }: Sampled, rows: ExpectedMatches): SideMatches => {
    return { matched: weightedSum(source, rows.chance), ofSources: new Map([[key, rows]]) }
  }
  return { pairs: found.pairs, left: sideOf(left, found.left), right: sideOf(right, found.right) }
}

function untold(pairs: number, left: number, right: number): JoinMatches {
  const sideOf = (matched: number): SideMatches => ({ matched, ofSources: new Map() })
  return { pairs, left: sideOf(left), right: sideOf(right) }
}

/** By source, what its rows find in all parts that tell. */
function together(sides: readonly SideMatches[]): ReadonlyMap<symbol, ExpectedMatches> {
  const found = new Map<symbol, ExpectedMatches>()
  for (const [key, rows] of sides.flatMap(({ ofSources }) => [...ofSources])) {
    const before = found.get(key)
    found.set(key, {
      matches: rows.matches.map((each, row) => each * (before?.matches[row] ?? 1)),
      chance: rows.chance.map((each, row) => Math.min(each, before?.chance[row] ?? 1)),
    })
  }
  return found
}
