import type { JoinCondition } from '../../../protocol/query/typed.js'
import { matchBand } from './band-matches.js'
import { distinctValues } from './distinct-rows.js'
import { type Matches, matchKeys, type RowMatches } from './key-matches.js'
import { type NodeColumn, type NodeEstimate, type Sampled, sampledOf } from './node-estimate.js'
import { shareKeys } from './sample-keys.js'

/** How the rows of two nodes match, all conditions together. */
export interface JoinMatches {
  readonly pairs: number
  readonly left: SideMatches
  readonly right: SideMatches
}

export interface SideMatches {
  /** Rows that match something. */
  readonly matched: number
  /** Of sources with columns that are joined by: what each row of the sample finds, compared with its others. */
  readonly ofSources: ReadonlyMap<symbol, RowMatches>
}

/** Columns that are joined by, in pairs: all those of the same two sources, or one pair alone. */
interface Part {
  readonly left: NodeColumn[]
  readonly right: NodeColumn[]
}

/** How rows match by a part. */
interface PartMatches {
  /** Of all pairs of rows, those that match. */
  readonly share: number
  readonly left: PartSide
  readonly right: PartSide
}

interface PartSide {
  /** Of its rows, those that match something. */
  readonly share: number
  /** Undefined where no samples tell. */
  readonly told: { readonly key: symbol; readonly rows: RowMatches } | undefined
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
  const found = matches.reduce((rows, { share }) => rows * share, left.rows * right.rows)
  const sideOf = (name: 'left' | 'right', rows: number): SideMatches => {
    const sides = matches.map((part) => part[name])
    const share = sides.reduce((least, { share }) => Math.min(least, share), 1)
    return { matched: Math.min(found, rows * share), ofSources: together(sides) }
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
): PartMatches {
  const [l, r] = [sampledOf(left, part.left), sampledOf(right, part.right)]
  if (width !== undefined) {
    if (l === undefined || r === undefined) return untoldBand(left.rows, right.rows)
    return told(l, r, matchBand(l, r, width), left.rows, right.rows)
  }
  const distinct = [distinctValues(left, part.left), distinctValues(right, part.right)] as const
  if (l === undefined || r === undefined) return untold(...distinct)
  const keys = shareKeys(part.left, part.right)
  const found = matchKeys({ ...l, distinct: distinct[0] }, { ...r, distinct: distinct[1] }, keys)
  return told(l, r, found, left.rows, right.rows)
}

function told(
  left: Sampled,
  right: Sampled,
  found: Matches,
  leftRows: number,
  rightRows: number,
): PartMatches {
  const sideOf = ({ key, source: { weights } }: Sampled, rows: RowMatches, of: number): PartSide => {
    const matched = weights.reduce((sum, weight, row) => sum + weight * rows.chance[row]!, 0)
    return { share: matched / Math.max(1, of), told: { key, rows } }
  }
  return {
    share: found.pairs / Math.max(1, leftRows * rightRows),
    left: sideOf(left, found.left, leftRows),
    right: sideOf(right, found.right, rightRows),
  }
}

/** As if all values came equally often, and the side with fewer had them all from the other. */
function untold(left: number, right: number): PartMatches {
  return {
    share: 1 / Math.max(1, left, right),
    left: { share: Math.min(1, right / Math.max(1, left)), told: undefined },
    right: { share: Math.min(1, left / Math.max(1, right)), told: undefined },
  }
}

function untoldBand(left: number, right: number): PartMatches {
  const side = { share: UNKNOWN_MATCHED, told: undefined }
  return { share: 1 / Math.max(1, Math.min(left, right)), left: side, right: side }
}

/** By source, what its rows find in all parts that tell. */
function together(sides: readonly PartSide[]): ReadonlyMap<symbol, RowMatches> {
  const found = new Map<symbol, RowMatches>()
  for (const { told } of sides) {
    if (told === undefined) continue
    const { key, rows } = told
    const before = found.get(key)
    found.set(key, {
      matches: rows.matches.map((each, row) => each * (before?.matches[row] ?? 1)),
      chance: rows.chance.map((each, row) => Math.min(each, before?.chance[row] ?? 1)),
    })
  }
  return found
}
