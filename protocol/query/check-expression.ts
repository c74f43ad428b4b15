import { LIMITS } from '../limits.js'
import { constantsOf, listLength } from './constant-lists.js'
import { type Constant, columnTypeOf, constantOf, nullOf, text as textConstant } from './constants.js'
import { dateArithmetic } from './date-functions.js'
import { decimalArithmetic } from './decimal-arithmetic.js'
import { exactComparison } from './exact-comparison.js'
import { checkFunction } from './functions.js'
import { patternTest } from './like.js'
import { mismatch } from './mismatch.js'
import { describe, faultAt, type NodeReader } from './node-reader.js'
import { textCast } from './text-functions.js'
import {
  ARITHMETIC,
  type ArithmeticOp,
  COMPARISONS,
  type ComparisonOp,
  FUNCTIONS,
  type FunctionName,
  MATCHES,
  type MatchKind,
  type ResultColumn,
} from './tree.js'
import { hasNulls, type Pair, sizeOf, type TypedExpression } from './typed.js'
import { alike, unified } from './unify.js'
import { commonType, converted, isNumeric, wideType } from './value-types.js'

const OTHER_OPS = ['and', 'or', 'in', 'not', 'isNull', 'cast', 'case'] as const
const EXPRESSION_OPS = [...ARITHMETIC, ...COMPARISONS, ...MATCHES, ...FUNCTIONS, ...OTHER_OPS]

/** Of the input of the node that has an expression. */
type Columns = readonly ResultColumn[]

/** What it is to be among none, also for null. */
const NEVER: TypedExpression = { kind: 'constant', value: false, type: 'boolean', nullable: false }

/**
 * Checks an expression and settles the types of all that it consists of.
 *
 * @throws WarpdexError `BAD_REQUEST` with the way to the fault
 */
export function checkExpression(reader: NodeReader, columns: Columns): TypedExpression {
  reader.spend(
    'expressions',
    1,
    `the expressions of a query have at most ${LIMITS.queryExpressions} parts; constants of "in" that come as lists are not among them`,
  )
  const typed = checkForm(reader, columns)
  reader.finish()
  if (sizeOf(typed) > LIMITS.queryExpressionSize) {
    throw reader.fault(
      `an expression has at most ${LIMITS.queryExpressionSize} parts where each value of "in" and "coalesce" counts as often as it is looked at`,
    )
  }
  return typed
}

/** An expression that is true, false or null. */
export function checkCondition(reader: NodeReader, columns: Columns): TypedExpression {
  const typed = converted(checkExpression(reader, columns), 'boolean')
  if (typed === undefined) throw reader.fault('a condition is needed, which is true or false')
  return typed
}

function checkForm(reader: NodeReader, columns: Columns): TypedExpression {
  if (reader.has('column')) {
    const index = columnNumber(reader.path, reader.text('column'), columns)
    const { type, nullable } = columns[index]!
    return { kind: 'column', index, type, nullable }
  }
  if (reader.value('value') !== undefined) return constantOf(reader)
  const op = reader.choice('op', EXPRESSION_OPS)
  switch (op) {
    case 'and':
    case 'or': {
      const conditions = reader.children('args', 1, LIMITS.queryExpressions)
      return balanced(
        op,
        conditions.map((condition) => checkCondition(condition, columns)),
      )
    }
    case 'not': {
      const condition = checkCondition(only(reader), columns)
      return { kind: op, args: [condition], type: 'boolean', nullable: condition.nullable }
    }
    case 'isNull':
      return { kind: op, args: [checkExpression(only(reader), columns)], type: 'boolean', nullable: false }
    case 'in':
      return checkIn(reader, columns)
    case 'cast':
      return checkCast(reader, columns)
    case 'case':
      return checkCase(reader, columns)
    case 'startsWith':
    case 'endsWith':
    case 'contains':
    case 'like':
      return checkMatch(op, reader, columns)
    case '+':
    case '-':
    case '*':
    case '/': {
      const pair = pairOf(reader, columns)
      return op === '/' ? quotient(reader, pair, columns) : arithmetic(op, reader, pair, columns)
    }
    default:
      if (isFunction(op)) return checkFunction(reader, op, columns, checkExpression)
      return comparison(op, reader, pairOf(reader, columns), columns)
  }
}

function isFunction(op: string): op is FunctionName {
  return FUNCTIONS.some((name) => name === op)
}

function checkMatch(op: MatchKind, reader: NodeReader, columns: Columns): TypedExpression {
  const value = converted(checkExpression(only(reader), columns), 'string')
  if (value === undefined) throw reader.fault(`"${op}" looks into strings only`)
  const asked = reader.text('text')
  const test = op === 'like' ? patternTest(asked, escapeOf(reader)) : { op, text: asked }
  if (test === undefined) throw reader.fault('the pattern ends with its escape, behind which nothing is')
  const { text } = test
  if (test.op === '=') return comparison('=', reader, [value, textConstant(text)], columns)
  return { kind: 'match', match: test.op, text, args: [value], type: 'boolean', nullable: value.nullable }
}

function escapeOf(reader: NodeReader): string | undefined {
  const escaping = reader.optionalText('escape')
  if (escaping !== undefined && [...escaping].length > 1) throw reader.fault('an "escape" is one character')
  return escaping
}

function only(reader: NodeReader): NodeReader {
  return reader.children('args', 1, 1)[0]!
}

function pairOf(reader: NodeReader, columns: Columns): Pair {
  const [left, right] = reader.children('args', 2, 2)
  return [checkExpression(left!, columns), checkExpression(right!, columns)]
}

function arithmetic(
  op: Exclude<ArithmeticOp, '/'>,
  reader: NodeReader,
  pair: Pair,
  columns: Columns,
): TypedExpression {
  const own = dateArithmetic(op, pair) ?? decimalArithmetic(reader, op, pair)
  if (own !== undefined) return own
  const args = unified(reader, pair, columns)
  const type = wideType(args[0].type)
  if (!isNumeric(type)) throw reader.fault(`"${op}" needs numbers, not ${type}`)
  const wide: Pair = [converted(args[0], type)!, converted(args[1], type)!]
  return { kind: 'arithmetic', op, args: wide, type, nullable: hasNulls(wide) }
}

/** Of floats: what meets as `f32` is divided as such, all else as `f64`. */
function quotient(reader: NodeReader, pair: Pair, columns: Columns): TypedExpression {
  const type = commonType(pair) === 'f32' ? 'f32' : 'f64'
  const [left, right] = pair.map((value) => (isNumeric(value.type) ? converted(value, type) : undefined))
  if (left !== undefined && right !== undefined) {
    return { kind: 'arithmetic', op: '/', args: [left, right], type, nullable: true }
  }
  throw reader.fault(`"/" needs numbers, not ${pair[0].type} and ${pair[1].type}${mismatch(pair, columns)}`)
}

function checkIn(reader: NodeReader, columns: Columns): TypedExpression {
  const [first, ...others] = reader.children('args', 1, LIMITS.queryExpressions)
  const value = checkExpression(first!, columns)
  const equal = others.map((other) =>
    comparison('=', other, [value, checkExpression(other, columns)], columns),
  )
  for (const constant of listed(reader)) equal.push(comparison('=', reader, [value, constant], columns))
  return equal.length > 0 ? balanced('or', equal) : NEVER
}

/** The constants of an `in` that came as columns. */
function listed(reader: NodeReader): readonly Constant[] {
  if (!reader.has('lists')) return []
  const { lists } = reader.budget
  return reader.list('lists', 0, LIMITS.queryLists).flatMap((number) => {
    const list = typeof number === 'number' ? lists[number] : undefined
    if (list === undefined) {
      throw reader.fault(`there is no list ${describe(number)}; ${lists.length} came with the query`)
    }
    reader.spend(
      'listed',
      listLength(list),
      `the lists of a query have at most ${LIMITS.queryListValues} constants; more of them are best kept, or appended, as a relation, and met by a semi join`,
    )
    return constantsOf(list)
  })
}

function comparison(op: ComparisonOp, reader: NodeReader, pair: Pair, columns: Columns): TypedExpression {
  const { op: asked, args } = exactComparison(op, pair) ?? { op, args: unified(reader, pair, columns) }
  return { kind: 'comparison', op: asked, args, type: 'boolean', nullable: hasNulls(args) }
}

function checkCast(reader: NodeReader, columns: Columns): TypedExpression {
  const value = checkExpression(only(reader), columns)
  const type = columnTypeOf(reader)
  const free = type === 'string' ? textCast(value) : converted(value, type)
  if (free !== undefined) return free
  const areNumbers = [value.type, type].every((each) => isNumeric(each) || each === 'boolean')
  const isRead = value.type === 'string' || (value.type === 'timestamp' && type === 'date')
  if (!areNumbers && !isRead) {
    throw reader.fault(`${value.type} cannot be cast to ${type}; numbers and booleans can, to each other`)
  }
  return { kind: 'convert', args: [value], type, nullable: value.nullable }
}

function checkCase(reader: NodeReader, columns: Columns): TypedExpression {
  const branches = reader.children('when', 1, LIMITS.queryExpressions).map((branch) => {
    const condition = checkCondition(branch.child('condition'), columns)
    const value = checkExpression(branch.child('value'), columns)
    branch.finish()
    return { condition, value }
  })
  const otherwise = reader.has('otherwise')
    ? checkExpression(reader.child('otherwise'), columns)
    : nullOf(branches[0]!.value.type)
  const values = [...branches.map(({ value }) => value), otherwise]
  const same = alike(reader, values)
  if (same === undefined) {
    throw reader.fault(`the values of a case must go together${mismatch(values, columns)}`)
  }
  return branches.reduceRight<TypedExpression>((rest, { condition }, i) => {
    const args = [condition, same[i]!, rest] as const
    return { kind: 'choose', args, type: rest.type, nullable: hasNulls(args.slice(1)) }
  }, same.at(-1)!)
}

/** The number of a column by its name. */
export function columnNumber(path: string, name: string, columns: Columns): number {
  const index = columns.findIndex((column) => column.name === name)
  if (index >= 0) return index
  const names = columns.map((column) => column.name).join(', ')
  throw faultAt(path, `no column "${name.slice(0, 80)}"; the columns are ${names.slice(0, 800)}`)
}

/** As a balanced tree, which is not deep. */
function balanced(kind: 'and' | 'or', conditions: readonly TypedExpression[]): TypedExpression {
  if (conditions.length === 1) return conditions[0]!
  const middle = conditions.length >> 1
  const args: Pair = [balanced(kind, conditions.slice(0, middle)), balanced(kind, conditions.slice(middle))]
  return { kind, args, type: 'boolean', nullable: hasNulls(args) }
}
