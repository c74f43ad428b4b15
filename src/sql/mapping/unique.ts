import type { QueryNode } from '../../../protocol/query/tree.js'
import { tellsColumn } from './nulls.js'

/** Whether a node gives one row at most. */
export function isSingleRow(node: QueryNode): boolean {
  return uniqueBy(node)?.length === 0
}

/** Names of columns of which no two rows of a node have the same values; undefined where none are known. */
export function uniqueBy(node: QueryNode): readonly string[] | undefined {
  switch (node.op) {
    case 'groupBy':
      return node.keys.map(({ name }) => name)
    case 'limit':
      return node.rows !== undefined && node.rows <= 1 ? [] : uniqueBy(node.input)
    case 'where':
    case 'orderBy':
      return uniqueBy(node.input)
    case 'project':
      return renamed(node, uniqueBy(node.input))
    case 'product': {
      const [left, right] = [uniqueBy(node.left), uniqueBy(node.right)]
      return left && right && [...left, ...right]
    }
    case 'join':
      return uniqueByJoin(node)
    default:
      return undefined
  }
}

function renamed(
  { columns }: Extract<QueryNode, { op: 'project' }>,
  unique: readonly string[] | undefined,
): readonly string[] | undefined {
  const names = unique?.map(
    (column) => columns.find(({ value }) => 'column' in value && value.column === column)?.name,
  )
  const found = names?.filter((name) => name !== undefined)
  return found?.length === names?.length ? found : undefined
}

/** Each row of the left side has one partner at most if the right side has each key once. */
function uniqueByJoin({
  kind = 'inner',
  left,
  right,
  on = [],
}: Extract<QueryNode, { op: 'join' }>): readonly string[] | undefined {
  if (kind === 'semi' || kind === 'anti') return uniqueBy(left)
  if (kind === 'right' || kind === 'full') return undefined
  const keys = on.map(([, key]) => key)
  const once = uniqueBy(right)?.every((column) => isTold(right, keys, column))
  return once === true ? uniqueBy(left) : undefined
}

/** Whether keys of a node are a column of it, or tell what it is. */
function isTold(node: QueryNode, keys: readonly string[], column: string): boolean {
  if (keys.includes(column)) return true
  if (node.op !== 'project') return false
  const givenAs = (name: string) => node.columns.find((each) => each.name === name)?.value
  const told = givenAs(column)
  const values = keys.flatMap((key) => givenAs(key) ?? [])
  if (told === undefined || !('column' in told)) return false
  return values.some((first) => values.some((second) => tellsColumn(first, second, told.column)))
}
