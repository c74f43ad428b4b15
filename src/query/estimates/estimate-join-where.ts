import { givenOf, type NodeOf } from '../../../protocol/query/typed.js'
import { type NodeEstimate, repeatedAll, unknownColumn } from './node-estimate.js'

/**
 * The rows of a join whose pairs must satisfy a condition, as if the pairs that do were spread over the rows of each side at random.
 * @param pairs these, with row numbers
 */
export function estimateJoinWhere(
  node: NodeOf<'joinWhere'>,
  pairs: NodeEstimate,
  left: NodeEstimate,
  right: NodeEstimate,
): NodeEstimate {
  const { kind, kept } = node
  const ofLeft = givenOf(node).map((column) => left.columns[column]!)
  const leftAlone = alone(left, pairs)
  switch (kind) {
    case 'semi':
      return { ...repeatedAll(left, 1 - leftAlone), columns: ofLeft }
    case 'anti':
      return { ...repeatedAll(left, leftAlone), columns: ofLeft }
    case 'mark':
      return { ...left, columns: [...ofLeft, unknownColumn(MARK)] }
    default: {
      const fromLeft = kind === 'right' ? 0 : left.rows * leftAlone
      const fromRight = kind === 'left' ? 0 : right.rows * alone(right, pairs)
      const columns = kept.map((column, i) => {
        return { ...pairs.columns[column]!, nullable: node.columns[i]!.nullable }
      })
      return { ...pairs, rows: pairs.rows + fromLeft + fromRight, columns }
    }
  }
}

const MARK = { type: 'boolean', nullable: false, dictionary: undefined } as const

/** The chance that a row of a side is in no pair. */
function alone({ rows }: NodeEstimate, pairs: NodeEstimate): number {
  return rows === 0 ? 0 : Math.exp(-pairs.rows / rows)
}
