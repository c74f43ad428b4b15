import type { ColumnType } from '../../../protocol/column-types.js'
import { structureOf } from '../../../protocol/query/structure.js'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import { isNull } from './expressions.js'
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

/** A value, or what stands for null, which may be a value too. */
export function filled(value: Expression, type: ColumnType): Expression {
  return { op: 'coalesce', args: [value, { value: STANDS_FOR_NULL[type] ?? '0', type }] }
}

const STANDS_FOR_NULL: Readonly<Partial<Record<ColumnType, number | string | boolean>>> = {
  boolean: false,
  string: '',
  date: '1970-01-01',
  timestamp: '1970-01-01',
  u32: 0,
  i32: 0,
  f32: 0,
  f64: 0,
}

/** 1 for null, else 0. */
export function isMissing(value: Expression): Expression {
  return {
    op: 'case',
    when: [{ condition: isNull(value), value: { value: 1, type: 'u32' } }],
    otherwise: { value: 0, type: 'u32' },
  }
}

/** Whether two expressions, one `filled` and the other `isMissing`, tell together what a column is, null or not. */
export function tellsColumn(first: Expression, second: Expression, column: string): boolean {
  if (!('op' in first) || first.op !== 'coalesce') return false
  const [value, instead] = first.args
  const isFilled = first.args.length === 2 && isColumn(value, column) && 'value' in instead!
  return isFilled && structureOf(second) === structureOf(isMissing({ column }))
}

function isColumn(value: Expression | undefined, column: string): boolean {
  return value !== undefined && 'column' in value && value.column === column
}
