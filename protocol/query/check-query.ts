import { LIMITS } from '../limits.js'
import { checkGroups, checkNamed } from './check-columns.js'
import { checkCondition, checkExpression, columnNumber } from './check-expression.js'
import { checkJoin } from './check-join.js'
import { refuseClashes, toldApart } from './column-names.js'
import type { ConstantList } from './constant-lists.js'
import { NodeReader } from './node-reader.js'
import { type ResultColumn, SET_OPERATORS, type SetOperator } from './tree.js'
import {
  columnAt,
  inputsOf,
  type NamedColumn,
  type TypedExpression,
  type TypedNode,
  withValues,
} from './typed.js'

/** Columns of a relation by its name; throws where there is no such relation. */
export type SchemaOf = (relation: string) => readonly NamedColumn[]

const NODE_OPS = [
  'scan',
  'where',
  'project',
  'join',
  'product',
  ...SET_OPERATORS,
  'distinct',
  'groupBy',
  'orderBy',
  'limit',
] as const

/**
 * Checks a tree of operators as it came off the wire: its form, names, types and limits.
 *
 * @param lists constants of `in` that came beside it
 * @returns the same tree with every name resolved and every type settled
 * @throws WarpdexError `BAD_REQUEST` whose message begins with the way to the fault, such as `query.input.on[0]`; what `schemaOf` throws
 */
export function checkQuery(
  query: unknown,
  schemaOf: SchemaOf,
  lists: readonly ConstantList[] = [],
): TypedNode {
  const { queryNodes: nodes, queryExpressions: expressions, queryListValues: listed } = LIMITS
  return checkNode(new NodeReader(query, 'query', { nodes, expressions, listed, lists }), schemaOf)
}

/** Relations that a checked tree reads, each once. */
export function relationsOf(node: TypedNode): readonly string[] {
  if (node.op === 'scan') return [node.relation]
  return [...new Set(inputsOf(node).flatMap(relationsOf))]
}

function checkNode(reader: NodeReader, schemaOf: SchemaOf): TypedNode {
  reader.spend('nodes', 1, `a query has at most ${LIMITS.queryNodes} operators`)
  const node = checkOp(reader, schemaOf)
  reader.finish()
  const { length } = node.columns
  if (length > LIMITS.queryColumns) {
    throw reader.fault(`this gives ${length} columns; ${LIMITS.queryColumns} are allowed`)
  }
  refuseClashes(reader, node.columns)
  return node
}

function checkOp(reader: NodeReader, schemaOf: SchemaOf): TypedNode {
  const inputAt = (name: 'input' | 'left' | 'right') => checkNode(reader.child(name), schemaOf)
  const op = reader.choice('op', NODE_OPS)
  const { path } = reader
  switch (op) {
    case 'scan':
      return checkScan(reader, schemaOf)
    case 'where': {
      const input = inputAt('input')
      const { columns } = input
      const condition = checkCondition(reader.child('condition'), columns)
      return { op, input, condition, kept: [...columns.keys()], columns, path }
    }
    case 'project': {
      const input = inputAt('input')
      return { op, input, path, ...checkNamed(reader, 'columns', 1, input.columns) }
    }
    case 'join':
      return checkJoin(reader, inputAt('left'), inputAt('right'))
    case 'product': {
      const [left, right] = [inputAt('left'), inputAt('right')]
      return { op, left, right, path, columns: toldApart(left.columns, right.columns).flat() }
    }
    case 'distinct': {
      const input = inputAt('input')
      return { op, input, columns: input.columns, path }
    }
    case 'groupBy':
      return checkGroups(reader, inputAt('input'))
    case 'orderBy':
      return checkOrder(reader, inputAt('input'))
    case 'limit': {
      const input = inputAt('input')
      const most = Number.MAX_SAFE_INTEGER
      const rows = reader.has('rows') ? reader.whole('rows', most) : most
      const offset = reader.has('offset') ? reader.whole('offset', most) : 0
      return { op, input, rows, offset, columns: input.columns, path }
    }
    default:
      return checkSets(op, reader, inputAt('left'), inputAt('right'))
  }
}

function checkScan(reader: NodeReader, schemaOf: SchemaOf): TypedNode {
  const relation = reader.text('relation')
  const as = reader.optionalText('as')
  const columns = schemaOf(relation).map((column) =>
    as === undefined ? { relation, ...column } : { ...column, name: `${as}.${column.name}` },
  )
  return { op: 'scan', relation, kept: [...columns.keys()], columns, path: reader.path }
}

function checkOrder(reader: NodeReader, input: TypedNode): TypedNode {
  const { columns } = input
  const { path } = reader
  const computed: TypedExpression[] = []
  const by = reader.children('by', 1, LIMITS.queryKeys).map((key) => {
    if (key.has('column') === key.has('value')) {
      throw key.fault('an order goes by a "column", or by a "value", which is an expression')
    }
    const column = key.has('column')
      ? columnNumber(key.path, key.text('column'), columns)
      : columns.length + computed.push(checkExpression(key.child('value'), columns)) - 1
    const descending = key.flag('descending')
    const nullsFirst = key.choice('nulls', ['first', 'last'], 'last') === 'first'
    key.finish()
    return { column, descending, nullsFirst }
  })
  if (computed.length === 0) return { op: 'orderBy', input, by, columns, path }
  const wide = withValues(input, computed, path)
  const ordered: TypedNode = { op: 'orderBy', input: wide, by, columns: wide.columns, path }
  return { op: 'project', input: ordered, values: columns.map(columnAt), columns, path }
}

function checkSets(op: SetOperator, reader: NodeReader, left: TypedNode, right: TypedNode): TypedNode {
  if (left.columns.length !== right.columns.length) {
    const numbers = `${left.columns.length} and ${right.columns.length}`
    throw reader.fault(`both sides need equally many columns of the same types; they have ${numbers}`)
  }
  const columns = left.columns.map(({ name, type, nullable }, i) => {
    const other = right.columns[i]!
    if (other.type !== type) {
      throw reader.fault(`column "${name}" is ${type} on the left, and ${other.type} on the right`)
    }
    return { name, type, nullable: nullable || (op === 'union' && other.nullable) }
  })
  const all = reader.flag('all')
  const byKey = reader.has('byKey') ? checkSetKey(reader, left.columns) : undefined
  if (all && byKey !== undefined) throw reader.fault('"all" is for whole rows, so not beside "byKey"')
  return { op, left, right, all, byKey, columns, path: reader.path }
}

function checkSetKey(reader: NodeReader, columns: readonly ResultColumn[]): readonly number[] {
  return reader.list('byKey', 1, LIMITS.queryKeys).map((name) => {
    const index = columnNumber(reader.path, String(name), columns)
    if (columns[index]!.nullable) {
      throw reader.fault(
        `column "${name}" may be null, which no key may; create its relation with a column that has a value in every row, or join: "semi" gives the rows with a partner, "anti" those without`,
      )
    }
    return index
  })
}
