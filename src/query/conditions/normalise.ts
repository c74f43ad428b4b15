import { orderedNumber } from '../../../gpu/relational/expressions/ordered-numbers.js'
import {
  between,
  complement,
  intersectionOf,
  isEmpty,
  isWithin,
  NULLS,
  withoutNulls,
} from '../../../gpu/relational/expressions/value-sets.js'
import { dictionaryOf } from '../../../gpu/relational/query/dictionaries.js'
import { finderOf } from '../../../gpu/relational/query/text-matches.js'
import type { Condition } from '../../../gpu/relational/selection/selection-types.js'
import { TURNED } from '../../../protocol/query/exact-comparison.js'
import type { ComparisonOp } from '../../../protocol/query/tree.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import { allValues, type ColumnDomain, comparisonSet, lastValue, prefixSet } from './column-domain.js'
import { convertedColumn, sourceSet } from './conversions.js'
import { ALWAYS, type Formula, FormulaBuilder, isValues, only, type Values } from './formula.js'

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
export function normalise(condition: TypedExpression, columns: readonly ColumnDomain[]): Normalised {
  const formula = new Normaliser(columns).formula(condition, true)
  if (formula === undefined) return { kind: 'none' }
  const conditions = [...formula.conditions]
  const implied: Implied[] = []
  for (const { condition, by } of formula.implied) {
    const { column, set } = condition
    const same = conditions.findIndex((own) => isValues(own) && own.column === column)
    const own = conditions[same]
    if (own !== undefined && isValues(own)) {
      // The column is read anyway.
      const both = intersectionOf([own.set, set], lastValue(columns[column]!))
      if (isEmpty(both)) return { kind: 'none' }
      conditions[same] = { kind: 'values', column, set: both }
    } else implied.push({ condition, by: formula.conditions.indexOf(by) })
  }
  return { kind: 'all', conditions, implied }
}

type Constant = Extract<TypedExpression, { kind: 'constant' }>

class Normaliser {
  readonly #columns: readonly ColumnDomain[]
  readonly #builder: FormulaBuilder

  constructor(columns: readonly ColumnDomain[]) {
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
        return truth(expression.value === wanted)
      case 'column': {
        const value = orderedNumber(wanted, 'boolean')
        return this.#builder.values(expression.index, between(value, value))
      }
      case 'comparison':
        return this.#comparison(expression, wanted)
      case 'isNull':
        return this.#isNull(expression, expression.args[0], wanted)
      case 'match':
        return this.#match(expression, wanted)
      default:
        return whole(expression, wanted)
    }
  }

  #comparison(expression: Extract<TypedExpression, { kind: 'comparison' }>, wanted: boolean): Formula {
    const op = wanted ? expression.op : OPPOSITE[expression.op]
    const [left, right] = expression.args
    const isTurned = left.kind === 'constant'
    const [asked, side, constant] = isTurned ? [TURNED[op], right, left] : [op, left, right]
    if (constant.kind !== 'constant') return whole({ ...expression, op }, true)
    if (constant.value === null) return undefined
    if (side.kind === 'constant') return truth(compareConstants(asked, side, constant))
    const column = convertedColumn(side)
    if (column === undefined) return whole({ ...expression, op }, true)
    const domain = this.#columns[column.index]!
    const compared = comparisonSet(asked, constant.value, { ...domain, type: side.type })
    return this.#builder.values(column.index, sourceSet(domain, side.type, compared))
  }

  #isNull(expression: TypedExpression, argument: TypedExpression, wanted: boolean): Formula {
    if (argument.kind === 'constant') return truth((argument.value === null) === wanted)
    const column = convertedColumn(argument)
    if (column === undefined) return whole(expression, wanted)
    const set = wanted ? NULLS : allValues(this.#columns[column.index]!)
    return this.#builder.values(column.index, set)
  }

  #match(expression: Extract<TypedExpression, { kind: 'match' }>, wanted: boolean): Formula {
    const { match, text } = expression
    const [argument] = expression.args
    if (argument.kind === 'constant') {
      return truth(typeof argument.value === 'string' && finderOf(match, text)(argument.value) === wanted)
    }
    if (argument.kind !== 'column') return whole(expression, wanted)
    const { index: column } = argument
    const domain = this.#columns[column]!
    // A text of no length is found in every string.
    if (text === '') return wanted ? this.#builder.values(column, allValues(domain)) : undefined
    if (match !== 'startsWith') return only({ kind: 'match', column, match, text, negated: !wanted })
    if (domain.dictionary === undefined) return undefined
    const prefixed = prefixSet(domain.dictionary, text)
    const others = withoutNulls(complement(prefixed, lastValue(domain)))
    return this.#builder.values(column, wanted ? prefixed : others)
  }
}

function truth(isTrue: boolean): Formula {
  return isTrue ? ALWAYS : undefined
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

function whole(expression: TypedExpression, wanted: boolean): Formula {
  return only({ kind: 'expression', expression: asWanted(expression, wanted) })
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
