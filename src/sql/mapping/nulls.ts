import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import type { Mapping } from './mapping.js'

/** Whether an expression over a node may be null: also conditions say that it is not, which types do not know. */
export function mayBeNull(node: QueryNode, value: Expression, mapping: Mapping): boolean {
  const isNullable = mapping.resultOf(node, [value])[0]?.nullable === true
  return isNullable && !('column' in value && isRequired(node, value.column))
}

/** Whether a condition of a node, or below it, leaves out rows in which a column of it is null. */
function isRequired(node: QueryNode, column: string): boolean {
  switch (node.op) {
    case 'where':
      return isRequiredBy(node.condition, column) || isRequired(node.input, column)
    case 'orderBy':
    case 'limit':
    case 'distinct':
      return isRequired(node.input, column)
    case 'project':
    case 'groupBy': {
      const given = node.op === 'project' ? node.columns : node.keys
      const value = given.find(({ name }) => name === column)?.value
      return value !== undefined && 'column' in value && isRequired(node.input, value.column)
    }
    case 'join': {
      const { kind = 'inner', left, right, on = [] } = node
      const isKey = kind === 'inner' && on.some((pair) => pair.includes(column))
      const isLeft = ['inner', 'left', 'semi', 'anti'].includes(kind) && isRequired(left, column)
      return isKey || isLeft || (['inner', 'right'].includes(kind) && isRequired(right, column))
    }
    default:
      return false
  }
}

function isRequiredBy(condition: Expression, column: string): boolean {
  if (!('op' in condition)) return false
  if (condition.op === 'and') return condition.args.some((each) => isRequiredBy(each, column))
  const [negated] = condition.op === 'not' ? condition.args : []
  if (negated === undefined || !('op' in negated) || negated.op !== 'isNull') return false
  const [value] = negated.args
  return 'column' in value && value.column === column
}
