import type { NodeOf } from '../node-of.js'
import { distinctRows } from './distinct-rows.js'
import { estimateDistinct } from './estimate-groups.js'
import { estimateJoin } from './estimate-join.js'
import { joinMatches } from './join-matches.js'
import { type NodeEstimate, repeatedAll, unknownColumn } from './node-estimate.js'

type SetNode = NodeOf<'union' | 'intersect' | 'except'>

/** Of the different rows of the side with fewer, how many are on the other, where nothing is known of either. */
const UNKNOWN_COMMON = 0.5

/** The rows of a set operator. */
export function estimateSets(node: SetNode, left: NodeEstimate, right: NodeEstimate): NodeEstimate {
  return node.byKey === undefined ? byRows(node, left, right) : byKey(node, node.byKey, left, right)
}

/** By key they are semi and anti joins, as they are carried out. */
function byKey(node: SetNode, key: readonly number[], left: NodeEstimate, right: NodeEstimate): NodeEstimate {
  const condition = { pairs: key.map((column) => [column, column] as const), width: undefined }
  if (node.op === 'intersect') return estimateJoin({ kind: 'semi', condition }, left, right)
  if (node.op === 'except') return estimateJoin({ kind: 'anti', condition }, left, right)
  const others = estimateJoin({ kind: 'anti', condition }, right, left)
  return beside(node, left.rows + others.rows, left, others)
}

function byRows(node: SetNode, left: NodeEstimate, right: NodeEstimate): NodeEstimate {
  const { op, all } = node
  if (op === 'union' && all) return beside(node, left.rows + right.rows, left, right)
  const [one, other] = [estimateDistinct(left), estimateDistinct(right)]
  const common = commonRows(one, other)
  if (op === 'union') return beside(node, one.rows + other.rows - common, one, other)
  const share = one.rows === 0 ? 0 : common / one.rows
  if (!all) return repeatedAll(one, op === 'intersect' ? share : 1 - share)
  // Of a row that both have, as many as the side has of it that has fewer.
  const oftener = Math.min(left.rows / Math.max(1, one.rows), right.rows / Math.max(1, other.rows))
  const both = Math.min(left.rows, common * oftener)
  const rest = op === 'intersect' ? both : left.rows - both
  return repeatedAll(left, left.rows === 0 ? 0 : rest / left.rows)
}

/** Different rows that both sides have. */
function commonRows(left: NodeEstimate, right: NodeEstimate): number {
  const fewer = Math.min(left.rows, right.rows)
  const isTold = left.columns.every(
    ({ from }, i) => from !== undefined && right.columns[i]!.from !== undefined,
  )
  if (!isTold) return UNKNOWN_COMMON * fewer
  const pairs = left.columns.map((_, column) => [column, column] as const)
  return Math.min(fewer, joinMatches({ pairs, width: undefined }, left, right).left.matched)
}

/** Rows of both sides together, of whose values nobody has a sample. */
function beside({ columns }: SetNode, rows: number, left: NodeEstimate, right: NodeEstimate): NodeEstimate {
  return {
    rows,
    columns: columns.map(({ type, nullable }, i) => {
      const [one, other] = [left.columns[i]!, right.columns[i]!]
      const dictionary = one.dictionary === other.dictionary ? one.dictionary : undefined
      return unknownColumn(
        { type, nullable, dictionary },
        distinctRows(left, [one]) + distinctRows(right, [other]),
      )
    }),
    sources: new Map(),
    equal: [],
  }
}
