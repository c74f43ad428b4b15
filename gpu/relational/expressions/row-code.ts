import { columnWords } from '../../../protocol/column-types.js'
import { getOrInsert } from '../../../protocol/get-or-insert.js'
import type { ComparisonOp } from '../../../protocol/query/tree.js'
import { argumentsOf, type TypedExpression } from '../../../protocol/query/typed.js'
import { codeOf, codesIn, dictionaryOf, matchTable, unitedDictionary } from '../query/dictionaries.js'
import type { QueryColumn } from '../query/query-column.js'
import type { TableColumn } from '../query/table.js'
import type { StringDictionary } from '../string-dictionary.js'
import { arithmetic128 } from './arithmetic-128.js'
import { type ComparedList, comparedLists, isAmong } from './compared-lists.js'
import { conversion } from './conversion.js'
import { ExpressionNumbers } from './expression-numbers.js'
import { calledFunction } from './functions.js'
import { arithmetic, choice, comparison, isNull, logic, negation, strict, truth } from './operators.js'
import { constantBits } from './ordered-numbers.js'
import { type FunctionBody, RowText } from './row-text.js'
import type { FaultyColumn, RowColumn, RowValue } from './row-value.js'
import { textResult } from './text-code.js'
import { ofTextsIn, stringsOf, type TextExpression, type TextTable, textTable } from './text-tables.js'
import type { ValueSet } from './value-sets.js'
import { within } from './within.js'

const NO_STRINGS = dictionaryOf([])
/** Of texts that are constants: what is made of a dictionary is kept with it. */
const constantDictionaries = new WeakMap<TypedExpression, StringDictionary>()
/** Booleans as strings, whose numbers are their words. */
const TRUTHS = dictionaryOf(['false', 'true'])

/**
 * WGSL statements that compute expressions over one row of a table, and what they read. The text depends on the shape of the expressions and of the columns
 * only: constants, and tables that are looked into, are words of one argument buffer. What occurs more than once is computed once.
 */
export class RowCode extends RowText {
  readonly #columns: readonly TableColumn[]
  readonly #numbers = new ExpressionNumbers()
  /** What is a column by now, by the number of its expression. */
  readonly #given = new Map<number, FaultyColumn>()
  /** Of strings, by the number of their expression. */
  readonly #dictionaries = new Map<number, StringDictionary>()
  /** By the number of an expression, and of strings by the dictionary that they are numbered by. */
  readonly #values = new Map<number, Map<StringDictionary | undefined, RowValue>>()

  /**
   * @param columns by the numbers that expressions have for them
   * @param row WGSL name of the row's number within the table
   * @param firstBinding numbers from here on are its own
   */
  constructor(columns: readonly TableColumn[], row: string, firstBinding: number) {
    super(row, firstBinding)
    this.#columns = columns
  }

  /** Has an expression be read from a column of the table's rows. */
  give(expression: TypedExpression, column: FaultyColumn): void {
    this.#given.set(this.#numbers.of(expression), column)
  }

  /** Adds what computes an expression. */
  value(expression: TypedExpression): RowValue {
    return this.#value(expression, expression.type === 'string' ? this.#dictionary(expression) : undefined)
  }

  /** A column that is none of the table's. */
  override column(column: QueryColumn | RowColumn): RowValue {
    return super.column('source' in column ? column : { source: column, rows: undefined })
  }

  /** A boolean that is never null: whether what a column has is in a set. */
  isIn(column: QueryColumn, { intervals, nulls }: ValueSet): RowValue {
    const value = this.column(column)
    const inside = within(this, value, intervals)
    if (value.valid === undefined) return this.computed('boolean', inside)
    return this.computed('boolean', `select(${nulls ? 1 : 0}u, ${inside}, ${value.valid})`)
  }

  /** The bit of a value of one word in an array of words. */
  lookUp(value: RowValue, words: string, first = '0u'): RowValue {
    const word = `${words}[${first} + ${value.value} / 32u]`
    return truth(this, `((${word} >> (${value.value} % 32u)) & 1u) != 0u`, [value])
  }

  /** Strings by the numbers of another dictionary, which has all of them. */
  recoded(value: RowValue, dictionary: StringDictionary): RowValue {
    const own = value.dictionary ?? NO_STRINGS
    if (own === dictionary) return value
    const code = `tables[${this.table(codesIn(own, dictionary))} + ${value.value}]`
    return { ...strict(this, 'string', code, [value]), dictionary }
  }

  protected override takeStatements(): FunctionBody {
    this.#values.clear()
    return super.takeStatements()
  }

  #value(expression: TypedExpression, dictionary: StringDictionary | undefined): RowValue {
    const number = this.#numbers.of(expression)
    const known = getOrInsert(this.#values, number, () => new Map())
    return getOrInsert(known, dictionary, () => this.#computed(expression, dictionary))
  }

  #computed(expression: TypedExpression, dictionary: StringDictionary | undefined): RowValue {
    const column = this.#columnOf(expression)
    if (column !== undefined) {
      const value = this.column(column)
      return dictionary === undefined ? value : this.recoded(value, dictionary)
    }
    const ofTexts = ofTextsIn(expression)
    if (ofTexts !== undefined) return this.#ofTexts(ofTexts, dictionary)
    switch (expression.kind) {
      case 'column':
      case 'constant':
        return this.#constant(expression, dictionary)
      case 'arithmetic': {
        const { op, type, args } = expression
        const [a, b] = [this.value(args[0]), this.value(args[1])]
        if (op !== '/' && columnWords(type) === 4) return arithmetic128(this, op, type, [a, b])
        return arithmetic(this, op, type, [a, b])
      }
      case 'comparison':
        return this.#comparison(expression.op, expression.args)
      case 'or': {
        const { lists, others } = comparedLists(expression, this.#numbers, (operand) =>
          this.#given.has(this.#numbers.of(operand)),
        )
        const [first, ...rest] = [
          ...lists.map((list) => this.#list(list)),
          ...others.map((other) => this.value(other)),
        ]
        return rest.reduce((all, value) => logic(this, 'or', all, value), first!)
      }
      case 'and':
        return logic(this, 'and', this.value(expression.args[0]), this.value(expression.args[1]))
      case 'not':
        return negation(this, this.value(expression.args[0]))
      case 'isNull':
        return isNull(this, this.value(expression.args[0]))
      case 'match': {
        const value = this.value(expression.args[0])
        const table = matchTable(value.dictionary ?? NO_STRINGS, expression.match, expression.text)
        return this.lookUp(value, 'tables', this.table(table))
      }
      case 'convert':
        if (expression.type === 'string') return this.recoded(this.#truthText(expression), dictionary!)
        return conversion(this, this.value(expression.args[0]), expression.type)
      case 'call':
        return calledFunction(
          this,
          expression,
          expression.args.map((argument) => this.value(argument)),
        )
      case 'choose': {
        const [condition, value, otherwise] = expression.args
        return choice(
          this,
          this.value(condition),
          this.#value(value, dictionary),
          this.#value(otherwise, dictionary),
        )
      }
    }
  }

  #columnOf(expression: TypedExpression): RowColumn | undefined {
    const given = this.#given.get(this.#numbers.of(expression))
    if (given !== undefined) return { source: given, rows: undefined }
    return expression.kind === 'column' ? this.#columns[expression.index] : undefined
  }

  /** The dictionary of an expression that gives strings. */
  #dictionary(expression: TypedExpression): StringDictionary {
    const number = this.#numbers.of(expression)
    return getOrInsert(this.#dictionaries, number, () => this.#foundDictionary(expression))
  }

  #foundDictionary(expression: TypedExpression): StringDictionary {
    const column = this.#columnOf(expression)
    if (column !== undefined) return column.source.dictionary ?? NO_STRINGS
    if (expression.kind === 'constant') {
      const { value } = expression
      if (typeof value !== 'string') return NO_STRINGS
      return getOrInsert(constantDictionaries, expression, () => dictionaryOf([value]))
    }
    const ofTexts = ofTextsIn(expression)
    if (ofTexts !== undefined) return this.#textTable(ofTexts).dictionary!
    if (expression.kind === 'convert') return TRUTHS
    const values = expression.kind === 'choose' ? expression.args.slice(1) : argumentsOf(expression)
    return values.map((value) => this.#dictionary(value)).reduce(unitedDictionary, NO_STRINGS)
  }

  #textTable(expression: TextExpression): TextTable {
    return textTable(
      expression,
      stringsOf(expression).map((string) => this.#dictionary(string)),
    )
  }

  /** What a function makes of the strings of the row. */
  #ofTexts(expression: TextExpression, dictionary: StringDictionary | undefined): RowValue {
    const values = stringsOf(expression).map((string) => this.value(string))
    const result = textResult(this, expression, this.#textTable(expression), values)
    return dictionary === undefined ? result : this.recoded(result, dictionary)
  }

  /** A boolean as a string. */
  #truthText({ args: [truth] }: Extract<TypedExpression, { kind: 'convert' }>): RowValue {
    return { ...this.value(truth), type: 'string', dictionary: TRUTHS }
  }

  #constant(expression: TypedExpression, dictionary: StringDictionary | undefined): RowValue {
    const { type } = expression
    const value = expression.kind === 'constant' ? expression.value : null
    const bits =
      typeof value === 'string' ? BigInt(dictionary?.lowerBound(value) ?? 0) : constantBits(value, type)
    return {
      ...this.constant(bits, columnWords(type)),
      type,
      dictionary,
      valid: value === null ? 'false' : undefined,
    }
  }

  #comparison(op: ComparisonOp, [left, right]: readonly [TypedExpression, TypedExpression]): RowValue {
    if (left.type !== 'string') return comparison(this, op, this.value(left), this.value(right))
    const [a, b] = this.#ranks(left, right)
    return comparison(this, op, a, b)
  }

  /**
   * Two strings as numbers with the same order. A constant that is not in the dictionary lies between two numbers of it, so all are doubled:
   * string n is 2n + 1, and what is missing before it 2n.
   */
  #ranks(left: TypedExpression, right: TypedExpression): readonly [RowValue, RowValue] {
    const sides = [left, right]
    const others = sides.filter(({ kind }) => kind !== 'constant')
    const dictionary = (others.length > 0 ? others : sides)
      .map((side) => this.#dictionary(side))
      .reduce(unitedDictionary)
    const rank = (side: TypedExpression): RowValue => {
      if (side.kind === 'constant' && typeof side.value === 'string') {
        const known = codeOf(dictionary, side.value) !== undefined
        const bits = BigInt(2 * dictionary.lowerBound(side.value) + (known ? 1 : 0))
        return { ...this.constant(bits, 1), type: 'string' }
      }
      const value = this.#value(side, dictionary)
      return { ...value, value: `(2u * ${value.value} + 1u)` }
    }
    return [rank(left), rank(right)]
  }

  /** Whether a value equals one of many constants. */
  #list(list: ComparedList): RowValue {
    const value = this.value(list.value)
    return truth(this, isAmong(this, value, list), [value])
  }
}
