import { badRequest } from '../../protocol/errors.js'
import { getOrInsert } from '../../protocol/get-or-insert.js'
import { structureOf } from '../../protocol/query/structure.js'
import {
  argumentsOf,
  columnAt,
  pairsOf,
  type TypedExpression,
  type TypedNode,
  withValues,
} from '../../protocol/query/typed.js'

/** A cast of numbers, dates or timestamps to strings. */
export type TextCast = Extract<TypedExpression, { kind: 'convert' }>

/*
 * Generated code has strings by their numbers in dictionaries, which it must know when it is made. What is cast to strings has none before its values are
 * known, so that such casts become values of projections, which find the different values first (`operators/project.ts`).
 */

export function isTextCast(expression: TypedExpression): expression is TextCast {
  if (expression.kind !== 'convert' || expression.type !== 'string') return false
  const { type } = expression.args[0]
  return type !== 'string' && type !== 'boolean'
}

/** Whether there is one in an expression, or it is one. */
export function hasTextCast(expression: TypedExpression): boolean {
  return getOrInsert(known, expression, () => {
    return isTextCast(expression) || argumentsOf(expression).some(hasTextCast)
  })
}

const known = new WeakMap<TypedExpression, boolean>()

/**
 * A tree that gives the same, in which nothing but values of projections are such casts.
 * @throws WarpdexError `BAD_REQUEST` for a cast in the condition of a join that gives rows without a partner, or rows of one side
 */
export function liftTextCasts(node: TypedNode): TypedNode {
  if (node.op === 'joinWhere' && hasTextCast(pairsOf(node).chosen.condition)) {
    throw badRequest(
      `${node.path}: the condition of a ${node.kind} join casts to strings; have a "select" of its input do that`,
    )
  }
  if (node.op === 'scan') return node
  if ('left' in node) return { ...node, left: liftTextCasts(node.left), right: liftTextCasts(node.right) }
  return lifted({ ...node, input: liftTextCasts(node.input) })
}

/** Casts that have no others in them become columns of a projection below, until none is left. */
function lifted(node: Exclude<TypedNode, { op: 'scan' } | { left: TypedNode }>): TypedNode {
  const { input } = node
  const places = new Map<string, number>()
  const casts: TypedExpression[] = []
  const inside = (expression: TypedExpression): TypedExpression => {
    if (!('args' in expression)) return expression
    // There are as many as there were.
    return { ...expression, args: expression.args.map(replaced) } as unknown as TypedExpression
  }
  const replaced = (expression: TypedExpression): TypedExpression => {
    if (!hasTextCast(expression)) return expression
    if (!isTextCast(expression) || expression.args.some(hasTextCast)) return inside(expression)
    const structure = structureOf(expression)
    const place = places.get(structure) ?? input.columns.length + casts.length
    if (!places.has(structure)) casts.push(expression)
    places.set(structure, place)
    return columnAt({ ...expression, name: '' }, place)
  }
  const made = withExpressions(node, replaced, (value) =>
    isTextCast(value) ? inside(value) : replaced(value),
  )
  return casts.length === 0 ? node : lifted({ ...made, input: withValues(input, casts, input.path) })
}

type WithInput = Parameters<typeof lifted>[0]

/** A node with other expressions. */
function withExpressions(
  node: WithInput,
  map: (expression: TypedExpression) => TypedExpression,
  mapValue: typeof map,
): WithInput {
  switch (node.op) {
    case 'where':
      return { ...node, condition: map(node.condition) }
    case 'project':
      return { ...node, values: node.values.map(mapValue) }
    case 'groupBy': {
      const aggregates = node.aggregates.map((each) => ({ ...each, value: each.value && map(each.value) }))
      return { ...node, keys: node.keys.map(map), aggregates }
    }
    default:
      return node
  }
}
