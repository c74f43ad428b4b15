import type { JoinCondition } from '../../../protocol/query/typed.js'
import { matchBand } from './band-matches.js'
import { commonSource, distinctValues } from './distinct-rows.js'
import { type Matches, matchKeys } from './key-matches.js'
import { shareKeys } from './key-side.js'
import type { NodeColumn, NodeEstimate } from './node-estimate.js'

/** What the rows of a side match, all conditions together. */
export interface JoinSideMatches {
  /** Rows that match something. */
  readonly matched: number
  /** Of sources that have columns that are joined by, for each row of the sample: how many rows it matches, and the chance of one at least. */
  readonly ofSources: ReadonlyMap<symbol, { readonly matches: Float64Array; readonly chance: Float64Array }>
}

/** Pairs of rows that match. */
export interface JoinMatches {
  readonly pairs: number
  /** Different values that both sides have, of one pair of columns whose samples tell. */
  readonly keys: number | undefined
  readonly left: JoinSideMatches
  readonly right: JoinSideMatches
}

/** How rows match by some of the pairs of columns: all those of the same two sources. */
interface Part {
  /** Of all pairs of rows, and of the rows of either side, those that match. */
  readonly share: number
  readonly leftShare: number
  readonly rightShare: number
  /** Undefined where no samples tell. */
  readonly told: { readonly left: symbol; readonly right: symbol; readonly matches: Matches } | undefined
}

/** Where nothing is known of its columns, a band gives as many rows as the larger side has, and half of the rows match. */
const UNKNOWN_MATCHED = 0.5

/** Estimates which rows of two nodes match. Conditions on columns of different sources have nothing to do with each other. */
export function joinMatches(
  { pairs, width }: JoinCondition,
  left: NodeEstimate,
  right: NodeEstimate,
): JoinMatches {
  const groups = new Map<string, [NodeColumn[], NodeColumn[]]>()
  const numbers = new Map<symbol | undefined, number>()
  const numberOf = (key: symbol | undefined) => {
    const number = numbers.get(key) ?? numbers.size
    numbers.set(key, number)
    return number
  }
  for (const [l, r] of pairs) {
    const [ofLeft, ofRight] = [left.columns[l]!, right.columns[r]!]
    const isTold = ofLeft.from !== undefined && ofRight.from !== undefined
    const name = isTold
      ? `${numberOf(ofLeft.from.source)} ${numberOf(ofRight.from.source)}`
      : `alone ${l} ${r}`
    const group = groups.get(name) ?? [[], []]
    group[0].push(ofLeft)
    group[1].push(ofRight)
    groups.set(name, group)
  }
  const parts = Array.from(groups.values(), ([ofLeft, ofRight]) =>
    partOf(left, right, ofLeft, ofRight, width),
  )
  return together(parts, left, right)
}

function partOf(
  left: NodeEstimate,
  right: NodeEstimate,
  ofLeft: readonly NodeColumn[],
  ofRight: readonly NodeColumn[],
  width: number | undefined,
): Part {
  const [leftSource, rightSource] = [commonSource(left, ofLeft), commonSource(right, ofRight)]
  const [l, r] = [ofLeft[0]!.from, ofRight[0]!.from]
  const distinct = { left: distinctValues(left, ofLeft), right: distinctValues(right, ofRight) }
  if (leftSource === undefined || rightSource === undefined || l === undefined || r === undefined) {
    return width === undefined ? untold(distinct.left, distinct.right) : untoldBand(left.rows, right.rows)
  }
  const matches =
    width === undefined
      ? byKeys()
      : matchBand({ source: leftSource, sample: l.sample }, { source: rightSource, sample: r.sample }, width)
  return {
    share: matches.pairs / Math.max(1, left.rows * right.rows),
    leftShare: matches.left.matched / Math.max(1, left.rows),
    rightShare: matches.right.matched / Math.max(1, right.rows),
    told: { left: l.source, right: r.source, matches },
  }

  function byKeys(): Matches {
    const keys = shareKeys(ofLeft, ofRight)
    return matchKeys(
      { source: leftSource!, keys: keys.left, distinct: distinct.left },
      { source: rightSource!, keys: keys.right, distinct: distinct.right },
      keys.count,
    )
  }
}

/** As if all values came equally often, and the side with fewer had them all from the other. */
function untold(left: number, right: number): Part {
  const most = Math.max(1, left, right)
  return {
    share: 1 / most,
    leftShare: Math.min(1, right / Math.max(1, left)),
    rightShare: Math.min(1, left / Math.max(1, right)),
    told: undefined,
  }
}

function untoldBand(left: number, right: number): Part {
  const share = 1 / Math.max(1, Math.min(left, right))
  return { share, leftShare: UNKNOWN_MATCHED, rightShare: UNKNOWN_MATCHED, told: undefined }
}

function together(parts: readonly Part[], left: NodeEstimate, right: NodeEstimate): JoinMatches {
  const share = parts.reduce((product, part) => product * part.share, 1)
  const pairs = left.rows * right.rows * share
  const side = (name: 'left' | 'right', rows: number, others: number): JoinSideMatches => {
    const shares = parts.map((part) => part[`${name}Share`])
    const matched = Math.min(pairs, rows * Math.min(1, ...shares))
    const keys = new Set(parts.flatMap(({ told }) => (told === undefined ? [] : [told[name]])))
    return { matched, ofSources: new Map([...keys].map((key) => [key, ofSource(parts, name, key, others)])) }
  }
  const [only] = parts
  const keys = parts.length === 1 ? only?.told?.matches.keys : undefined
  return {
    pairs,
    keys,
    left: side('left', left.rows, right.rows),
    right: side('right', right.rows, left.rows),
  }
}

/** What each row of a source matches, by what is known of it and what is of others on average. */
function ofSource(
  parts: readonly Part[],
  name: 'left' | 'right',
  key: symbol,
  others: number,
): { readonly matches: Float64Array; readonly chance: Float64Array } {
  const own = parts.flatMap(({ told }) => (told?.[name] === key ? [told.matches[name]] : []))
  const rest = parts.filter(({ told }) => told?.[name] !== key)
  const share = rest.reduce((product, part) => product * part.share, 1)
  const matches = own[0]!.matches.map(
    (_, row) =>
      others * share * own.reduce((product, each) => product * (each.matches[row]! / Math.max(1, others)), 1),
  )
  const most = Math.min(1, ...rest.map((part) => part[`${name}Share`]))
  const chance = matches.map((found, row) => {
    const least = own.reduce((least, each) => Math.min(least, each.chance[row]!), most)
    return parts.length === 1 ? least : Math.min(least, found)
  })
  return { matches, chance }
}
