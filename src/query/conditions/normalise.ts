import { dictionaryOf, isFound } from '../../../gpu/relational/query/dictionaries.js'
import type { Condition } from '../../../gpu/relational/selection/selection-types.js'
import { TURNED } from '../../../protocol/query/exact-comparison.js'
import type { ComparisonOp } from '../../../protocol/query/tree.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import {
  allValues,
  type ColumnFacts,
  comparisonSet,
  lastValue,
  orderedNumber,
  prefixSet,
} from './column-domain.js'
import { convertedColumn, sourceSet } from './conversions.js'
import { type And, type Formula, FormulaBuilder, isValues, type Or, partsOf, type Values } from './formula.js'
import { between, complement, intersectionOf, isEmpty, isWithin, NULLS, withoutNulls } from './value-sets.js'

/** A condition that another one implies, by that one's number. */
export interface Implied {
  readonly condition: Values
  readonly by: number
}

/** What a condition comes to: no row, or those that satisfy all of some conditions, of which there may be none. */
export type Normalised =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'all'
      readonly conditions: readonly Condition[]
      /** What may be asked beforehand because it is cheap. */
      readonly implied: readonly Implied[]
    }

const OPPOSITE: Readonly<Record<ComparisonOp, ComparisonOp>> = {
  '=': '<>',
  '<>': '=',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
}

/**
 * Brings a condition into a conjunction of conditions that kernels are made for (Sitaridi and Ross §3: conditions of one column are one). A row
 * satisfies it where the condition is true in the three values of SQL. So negations go down to the leaves: each leaf has the values for which it
 * is true and those for which it is false, and null is in neither.
 *
 * @param columns by the numbers that the condition has for them
 */
export function normalise(condition: TypedExpression, columns: readonly ColumnFacts[]): Normalised {
  const formula = new Normaliser(columns).formula(condition, true)
  if (formula === false) return { kind: 'none' }
  if (formula === true) return { kind: 'all', conditions: [], implied: [] }
  return conditionsOf(formula, columns)
}

type Constant = Extract<TypedExpression, { kind: 'constant' }>

class Normaliser {
  readonly #columns: readonly ColumnFacts[]
  readonly #builder: FormulaBuilder

  constructor(columns: readonly ColumnFacts[]) {
    this.#columns = columns
    this.#builder = new FormulaBuilder(columns)
  }

  /** When an expression is true, or, not `wanted`, when it is false. */
  formula(expression: TypedExpression, wanted: boolean): Formula {
    switch (expression.kind) {
      case 'and':
      case 'or': {
        const operands = operandsOf(expression, expression.kind).map((operand) =>
          this.formula(operand, wanted),
        )
        if ((expression.kind === 'and') === wanted) return this.#builder.and(operands)
        return this.#builder.or(operands, asWanted(expression, wanted))
      }
      case 'not':
        return this.formula(expression.args[0], !wanted)
      case 'constant':
        return expression.value === wanted
      case 'column': {
        const value = orderedNumber(wanted, 'boolean')
        return this.#builder.values(expression.index, between(value, value))
      }
      case 'comparison':
        return this.#comparison(expression, wanted) ?? whole(expression, wanted)
      case 'isNull':
        return this.#isNull(expression.args[0], wanted) ?? whole(expression, wanted)
      case 'match':
        return this.#match(expression, wanted) ?? whole(expression, wanted)
      default:
        return whole(expression, wanted)
    }
  }

  #comparison(
    { op, args }: Extract<TypedExpression, { kind: 'comparison' }>,
    wanted: boolean,
  ): Formula | undefined {
    const asked = wanted ? op : OPPOSITE[op]
    const [left, right] = args
    if (left.kind === 'constant' && right.kind === 'constant') return compareConstants(asked, left, right)
    if (right.kind === 'constant') return this.#compare(asked, left, right.value)
    if (left.kind === 'constant') return this.#compare(TURNED[asked], right, left.value)
    return undefined
  }

  #compare(op: ComparisonOp, expression: TypedExpression, constant: Constant['value']): Formula | undefined {
    const column = convertedColumn(expression)
    if (column === undefined) return constant === null ? false : undefined
    const facts = this.#columns[column.index]!
    const compared = comparisonSet(op, constant, { ...facts, type: expression.type })
    return this.#builder.values(column.index, sourceSet(facts, expression.type, compared))
  }

  #isNull(argument: TypedExpression, wanted: boolean): Formula | undefined {
    const column = convertedColumn(argument)
    if (column !== undefined) {
      return this.#builder.values(column.index, wanted ? NULLS : allValues(this.#columns[column.index]!))
    }
    if (argument.kind === 'constant') return (argument.value === null) === wanted
    return undefined
  }

  #match(
    { match, text, args }: Extract<TypedExpression, { kind: 'match' }>,
    wanted: boolean,
  ): Formula | undefined {
    const [argument] = args
    if (argument.kind === 'constant') {
      return typeof argument.value === 'string' && isFound(match, text, argument.value) === wanted
    }
    if (argument.kind !== 'column') return undefined
    const { index: column } = argument
    const { dictionary } = this.#columns[column]!
    const all = allValues(this.#columns[column]!)
    // A text of no length is found in every string.
    if (text === '') return wanted ? this.#builder.values(column, all) : false
    if (match !== 'startsWith') {
      return { kind: 'match', column, match, text, negated: !wanted }
    }
    if (dictionary === undefined) return false
    const prefixed = prefixSet(dictionary, text)
    const last = lastValue(this.#columns[column]!)
    return this.#builder.values(column, wanted ? prefixed : withoutNulls(complement(prefixed, last)))
  }
}

/** What trees of one operator are made of. */
function operandsOf(expression: TypedExpression, kind: 'and' | 'or'): TypedExpression[] {
  const operands: TypedExpression[] = []
  const collect = (part: TypedExpression) => {
    if (part.kind === kind) for (const argument of part.args) collect(argument)
    else operands.push(part)
  }
  collect(expression)
  return operands
}

function whole(expression: TypedExpression, wanted: boolean): Condition {
  return { kind: 'expression', expression: asWanted(expression, wanted) }
}

function asWanted(expression: TypedExpression, wanted: boolean): TypedExpression {
  if (wanted) return expression
  return { kind: 'not', args: [expression], type: 'boolean', nullable: expression.nullable }
}

/** The one value of the left side is compared as those of a column are. */
function compareConstants(op: ComparisonOp, left: Constant, right: Constant): boolean {
  const { value, type } = left
  if (value === null) return false
  const dictionary = typeof value === 'string' ? dictionaryOf([value]) : undefined
  const number = typeof value === 'string' ? 0n : orderedNumber(value, type)
  const set = comparisonSet(op, right.value, { type, nullable: false, dictionary })
  return isWithin(between(number, number), set)
}

function conditionsOf(formula: Condition | And | Or, columns: readonly ColumnFacts[]): Normalised {
  const parts = formula.kind === 'and' ? formula.parts : [formula]
  const conditions = parts.map(conditionOf)
  const implied: Implied[] = []
  for (const { condition, part } of formula.kind === 'and' ? formula.implied : []) {
    const { column, set } = condition
    const same = conditions.findIndex((condition) => isValues(condition) && condition.column === column)
    const own = conditions[same]
    if (own !== undefined && isValues(own)) {
      // The column is read anyway.
      const both = intersectionOf([own.set, set], lastValue(columns[column]!))
      conditions[same] = { kind: 'values', column, set: both }
      continue
    }
    implied.push({ condition, by: parts.indexOf(part) })
  }
  const isNone = conditions.some((condition) => isValues(condition) && isEmpty(condition.set))
  return isNone ? { kind: 'none' } : { kind: 'all', conditions, implied }
}

function conditionOf(part: Condition | Or): Condition {
  if (part.kind !== 'or') return part
  const branches = part.branches.map((branch) => partsOf(branch).map(conditionOf))
  return { kind: 'any', branches }
}
