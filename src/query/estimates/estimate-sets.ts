import type { JoinKind } from '../../../protocol/query/tree.js'
import type { NodeOf } from '../../../protocol/query/typed.js'
import { distinctRows } from './distinct-rows.js'
import { estimateDistinct } from './estimate-groups.js'
import { estimateJoin } from './estimate-join.js'
import { type NodeEstimate, repeatedAll, unknownColumn } from './node-estimate.js'

type SetNode = NodeOf<'union' | 'intersect' | 'except'>

/** The rows of a set operator: those of semi and anti joins, by key of rows as they are, otherwise of different ones. */
export function estimateSets(node: SetNode, left: NodeEstimate, right: NodeEstimate): NodeEstimate {
  const { op, all, byKey } = node
  if (op === 'union' && all) return beside(node, left, right)
  const [one, other] = byKey === undefined ? [estimateDistinct(left), estimateDistinct(right)] : [left, right]
  const columns = byKey ?? [...left.columns.keys()]
  const joined = (kind: JoinKind, left: NodeEstimate, right: NodeEstimate) => {
    const condition = { pairs: columns.map((column) => [column, column] as const), width: undefined }
    return estimateJoin({ kind, condition }, left, right)
  }
  if (op === 'union') return beside(node, one, joined('anti', other, one))
  if (!all) return joined(op === 'intersect' ? 'semi' : 'anti', one, other)
  // Of a row that both have, as many as the side has of it that has fewer.
  const oftener = Math.min(left.rows / Math.max(1, one.rows), right.rows / Math.max(1, other.rows))
  const both = Math.min(left.rows, joined('semi', one, other).rows * oftener)
  const rest = op === 'intersect' ? both : left.rows - both
  return repeatedAll(left, left.rows === 0 ? 0 : rest / left.rows)
}

/** Rows of both sides together, of whose values nobody has a sample. */
function beside({ columns }: SetNode, left: NodeEstimate, right: NodeEstimate): NodeEstimate {
  return {
    rows: left.rows + right.rows,
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
