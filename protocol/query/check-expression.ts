import { LIMITS } from '../limits.js'
import { COLUMN_TYPES } from '../relation.js'
import { constantsOf, listLength } from './constant-lists.js'
import { type Constant, constantOf, nullOf } from './constants.js'
import { exactComparison } from './exact-comparison.js'
import { lossyConstant, mismatch } from './mismatch.js'
import { describe, faultAt, type NodeReader, type QueryBudget } from './node-reader.js'
import {
  ARITHMETIC,
  type ArithmeticOp,
  COMPARISONS,
  type ComparisonOp,
  MATCHES,
  type MatchKind,
  type ResultColumn,
  type ValueType,
} from './tree.js'
import type { TypedExpression } from './typed.js'
import { commonType, commonTypeOfAll, converted, isNumeric } from './value-types.js'

const OTHER_OPS = ['and', 'or', 'in', 'not', 'isNull', 'cast', 'case'] as const
const EXPRESSION_OPS = [...ARITHMETIC, ...COMPARISONS, ...MATCHES, ...OTHER_OPS]

type Pair = readonly [TypedExpression, TypedExpression]

/** What it is to be among none, also for null. */
const NEVER: TypedExpression = { kind: 'constant', value: false, type: 'boolean', nullable: false }

/**
 * Checks an expression and settles the types of all that it consists of.
 *
 * @param columns of the input of the node that has the expression
 * @throws WarpdexError `BAD_REQUEST` with the way to the fault
 */
export function checkExpression(
  reader: NodeReader,
  columns: readonly ResultColumn[],
  budget: QueryBudget,
): TypedExpression {
  return new ExpressionChecker(columns, budget).check(reader)
}

/** An expression that is true, false or null. */
export function checkCondition(
  reader: NodeReader,
  columns: readonly ResultColumn[],
  budget: QueryBudget,
): TypedExpression {
  return new ExpressionChecker(columns, budget).condition(reader)
}

class ExpressionChecker {
  readonly #columns: readonly ResultColumn[]
  readonly #budget: QueryBudget

  constructor(columns: readonly ResultColumn[], budget: QueryBudget) {
    this.#columns = columns
    this.#budget = budget
  }

  check(reader: NodeReader): TypedExpression {
    if (--this.#budget.expressions < 0) {
      throw reader.fault(
        `the expressions of a query have at most ${LIMITS.queryExpressions} parts; constants of "in" that come as lists are not among them`,
      )
    }
    const typed = this.#checkForm(reader)
    reader.finish()
    return typed
  }

  condition(reader: NodeReader): TypedExpression {
    const typed = converted(this.check(reader), 'boolean')
    if (typed === undefined) throw reader.fault('a condition is needed, which is true or false')
    return typed
  }

  #checkForm(reader: NodeReader): TypedExpression {
    if (reader.has('column')) {
      const index = columnNumber(reader.path, reader.text('column'), this.#columns)
      const { type, nullable } = this.#columns[index]!
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
          conditions.map((condition) => this.condition(condition)),
        )
      }
      case 'in':
        return this.#in(reader)
      case 'not': {
        const condition = this.condition(this.#only(reader))
        return { kind: op, args: [condition], type: 'boolean', nullable: condition.nullable }
      }
      case 'isNull': {
        const value = this.check(this.#only(reader))
        return { kind: op, args: [value], type: 'boolean', nullable: false }
      }
      case 'cast':
        return this.#cast(reader)
      case 'case':
        return this.#case(reader)
      case 'startsWith':
      case 'endsWith':
      case 'contains':
        return this.#match(op, reader)
      default:
        return this.#binary(op, reader)
    }
  }

  #only(reader: NodeReader): NodeReader {
    return reader.children('args', 1, 1)[0]!
  }

  #in(reader: NodeReader): TypedExpression {
    const [first, ...others] = reader.children('args', 1, LIMITS.queryExpressions)
    const value = this.check(first!)
    const equal = others.map((other) => this.#comparison('=', other, [value, this.check(other)]))
    equal.push(...this.#listed(reader).map((constant) => this.#comparison('=', reader, [value, constant])))
    return equal.length > 0 ? balanced('or', equal) : NEVER
  }

  /** The constants of an `in` that came as columns. */
  #listed(reader: NodeReader): readonly Constant[] {
    if (!reader.has('lists')) return []
    return reader.list('lists', 0, LIMITS.queryLists).flatMap((number) => {
      const list = typeof number === 'number' ? this.#budget.lists[number] : undefined
      if (list === undefined) {
        const known = this.#budget.lists.length
        throw reader.fault(`there is no list ${describe(number)}; ${known} came with the query`)
      }
      this.#budget.listed -= listLength(list)
      if (this.#budget.listed < 0) {
        throw reader.fault(
          `the lists of a query have at most ${LIMITS.queryListValues} constants; more of them are best kept, or appended, as a relation, and met by a semi join`,
        )
      }
      return constantsOf(list)
    })
  }

  #binary(op: ArithmeticOp | ComparisonOp, reader: NodeReader): TypedExpression {
    const [left, right] = reader.children('args', 2, 2)
    const pair: Pair = [this.check(left!), this.check(right!)]
    const compares = COMPARISONS.find((candidate) => candidate === op)
    if (compares !== undefined) return this.#comparison(compares, reader, pair)
    const arithmetic = ARITHMETIC.find((candidate) => candidate === op)!
    const unified = this.#unified(reader, pair)
    if (!isNumeric(unified[0].type)) throw reader.fault(`"${op}" needs numbers, not ${unified[0].type}`)
    const operand = wideType(unified[0].type)
    const args: Pair = [converted(unified[0], operand)!, converted(unified[1], operand)!]
    const nullable = arithmetic === '/' || args.some((argument) => argument.nullable)
    return { kind: 'arithmetic', op: arithmetic, args, type: arithmetic === '/' ? 'f32' : operand, nullable }
  }

  #comparison(op: ComparisonOp, reader: NodeReader, pair: Pair): TypedExpression {
    const { op: asked, args } = exactComparison(op, pair) ?? { op, args: this.#unified(reader, pair) }
    const nullable = args.some((argument) => argument.nullable)
    return { kind: 'comparison', op: asked, args, type: 'boolean', nullable }
  }

  #unified(reader: NodeReader, pair: Pair): Pair {
    this.#refuseLossy(reader, pair)
    const type = commonType(pair[0], pair[1])
    if (type === undefined) {
      const why = mismatch(pair, this.#columns)
      throw reader.fault(`${pair[0].type} and ${pair[1].type} do not go together${why}`)
    }
    return [converted(pair[0], type)!, converted(pair[1], type)!]
  }

  /** As an `f32` it would equal integers that it is not. */
  #refuseLossy(reader: NodeReader, values: readonly TypedExpression[]): void {
    if (lossyConstant(values) === undefined) return
    throw reader.fault(
      'a whole number past 2^53 has lost digits, and meets integers; write it as a text with a type, such as {"value": "9007199254740993", "type": "u64"}',
    )
  }

  #match(match: MatchKind, reader: NodeReader): TypedExpression {
    const value = converted(this.check(this.#only(reader)), 'string')
    if (value === undefined) throw reader.fault(`"${match}" looks into strings only`)
    const text = reader.text('text')
    return { kind: 'match', match, text, args: [value], type: 'boolean', nullable: value.nullable }
  }

  #cast(reader: NodeReader): TypedExpression {
    const value = this.check(this.#only(reader))
    const type = reader.choice('type', COLUMN_TYPES)
    const free = converted(value, type)
    if (free !== undefined) return free
    if (!isNumeric(value.type) || !isNumeric(type) || value.type === 'f32') {
      throw reader.fault(`${value.type} cannot be cast to ${type}; integers can, to any type of number`)
    }
    return { kind: 'convert', args: [value], type, nullable: value.nullable }
  }

  #case(reader: NodeReader): TypedExpression {
    const branches = reader.children('when', 1, LIMITS.queryExpressions).map((branch) => {
      const condition = this.condition(branch.child('condition'))
      const value = this.check(branch.child('value'))
      branch.finish()
      return { condition, value }
    })
    const absent = nullOf(branches[0]!.value.type)
    const otherwise = reader.has('otherwise') ? this.check(reader.child('otherwise')) : absent
    const values = [...branches.map(({ value }) => value), otherwise]
    this.#refuseLossy(reader, values)
    const type = commonTypeOfAll(values)
    const alike = values.map((value) => type && converted(value, type))
    if (type === undefined || alike.includes(undefined)) {
      throw reader.fault(`the values of a case must go together${mismatch(values, this.#columns)}`)
    }
    return branches.reduceRight<TypedExpression>((rest, { condition }, i) => {
      const value = alike[i]!
      const nullable = value.nullable || rest.nullable
      return { kind: 'choose', args: [condition, value, rest], type, nullable }
    }, alike.at(-1)!)
  }
}

/** The number of a column by its name. */
export function columnNumber(path: string, name: string, columns: readonly ResultColumn[]): number {
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
  return { kind, args, type: 'boolean', nullable: args.some((argument) => argument.nullable) }
}

/** The type that integers of a type are added, multiplied and divided in. */
function wideType(type: ValueType): ValueType {
  return type === 'u32' || type === 'i32' ? 'i64' : type
}
