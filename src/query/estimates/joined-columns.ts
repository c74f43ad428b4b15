import type { JoinKind } from '../../../protocol/query/tree.js'
import type { JoinCondition } from '../../../protocol/query/typed.js'
import { distinctValues, isKey } from './distinct-rows.js'
import type { NodeColumn, NodeEstimate } from './node-estimate.js'

/** The columns of a join, and what follows from what among them. */
export type JoinedColumns = Pick<NodeEstimate, 'columns' | 'keys' | 'follows'>

/**
 * Columns that are joined by equality become of one class; where one of them is a key of its source, all of that source's row follows from the other.
 * @param common different values that both sides have, of one pair of columns, if that is known
 */
export function joinedColumns(
  kind: JoinKind,
  { pairs, width }: JoinCondition,
  left: NodeEstimate,
  right: NodeEstimate,
  common: number | undefined,
): JoinedColumns {
  const isHalf = kind === 'semi' || kind === 'anti'
  const [ofLeft, ofRight] = [[...left.columns], [...right.columns]]
  const keys = new Map(isHalf ? left.keys : [...left.keys, ...right.keys])
  const follows = new Map(isHalf ? left.follows : [...left.follows, ...right.follows])
  const equal = width === undefined && kind !== 'anti' ? pairs : []
  for (const [l, r] of equal) {
    const [one, other] = [left.columns[l]!, right.columns[r]!]
    const ofBoth = pairs.length > 1 ? undefined : common
    const fewer = ofBoth ?? Math.min(distinctValues(left, [one]), distinctValues(right, [other]))
    if (kind !== 'left' && kind !== 'full')
      ofLeft[l] = { ...ofLeft[l]!, distinct: Math.min(one.distinct, fewer) }
    if (isHalf) continue
    if (kind !== 'right' && kind !== 'full')
      ofRight[r] = { ...ofRight[r]!, distinct: Math.min(other.distinct, fewer) }
    unite(ofLeft, ofRight, keys, ofLeft[l]!.same, ofRight[r]!.same)
    if (isKey(left, one)) addKey(keys, follows, ofLeft[l]!.same, one, other)
    if (isKey(right, other)) addKey(keys, follows, ofLeft[l]!.same, other, one)
  }
  if (isHalf) return { columns: ofLeft, keys, follows }
  const outer = (columns: readonly NodeColumn[], isOuter: boolean) =>
    isOuter ? columns.map((column) => ({ ...column, nullable: true })) : columns
  const columns = [
    ...outer(ofLeft, kind === 'right' || kind === 'full'),
    ...outer(ofRight, kind === 'left' || kind === 'full'),
  ]
  return { columns, keys, follows }
}

type Mutable = Map<symbol, ReadonlySet<symbol>>

function unite(left: NodeColumn[], right: NodeColumn[], keys: Mutable, one: symbol, other: symbol): void {
  const same = Symbol()
  for (const columns of [left, right]) {
    columns.forEach((column, i) => {
      if (column.same === one || column.same === other) columns[i] = { ...column, same }
    })
  }
  keys.set(same, new Set([...(keys.get(one) ?? []), ...(keys.get(other) ?? [])]))
}

/** @param column a key of its source */
function addKey(keys: Mutable, follows: Mutable, same: symbol, column: NodeColumn, other: NodeColumn): void {
  const { source } = column.from!
  keys.set(same, new Set([...(keys.get(same) ?? []), source]))
  const from = other.from?.source
  if (from !== undefined) follows.set(from, new Set([...(follows.get(from) ?? []), source]))
}
