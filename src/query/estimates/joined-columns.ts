import type { JoinKind } from '../../../protocol/query/tree.js'
import type { JoinCondition } from '../../../protocol/query/typed.js'
import { distinctValues } from './distinct-rows.js'
import type { EqualColumns, NodeColumn, NodeEstimate } from './node-estimate.js'

/**
 * The columns of a join, and which are equal. Those that are joined by equality have no more values than both sides have together.
 * @param common different values that both sides have, of one pair of columns, if that is known
 */
export function joinedColumns(
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
