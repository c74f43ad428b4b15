import { WarpdexError } from '../../../protocol/errors.js'
import type { ArithmeticOp, ComparisonOp, ValueType } from '../../../protocol/query/tree.js'
import { argumentsOf, type TypedExpression } from '../../../protocol/query/typed.js'
import { goesWithoutFault } from '../../../protocol/query/value-types.js'
import type { StringDictionary } from '../device-relation.js'
import { codeOf, dictionaryOf, matchTable, mergeDictionaries } from './dictionaries.js'
import { Op, type Operation } from './opcodes.js'
import {
  PROGRAM_COLUMNS,
  PROGRAM_REGISTERS,
  type Program,
  ProgramBuilder,
  type ProgramColumn,
} from './program.js'
import type { QueryColumn } from './query-column.js'

/** Arithmetic by the type of its operands. */
const ARITHMETIC: Readonly<Record<'i64' | 'u64' | 'f32', Readonly<Record<ArithmeticOp, Operation>>>> = {
  i64: { '+': Op.add, '-': Op.subtract, '*': Op.multiply, '/': Op.divideSigned },
  u64: { '+': Op.addUnsigned, '-': Op.subtractUnsigned, '*': Op.multiplyUnsigned, '/': Op.divideUnsigned },
  f32: { '+': Op.addFloat, '-': Op.subtractFloat, '*': Op.multiplyFloat, '/': Op.divideFloat },
}

/** How values of a type are compared, floats and strings in an unsigned form. */
const LESS: Readonly<Record<ValueType, Operation>> = {
  u32: Op.less,
  u64: Op.less,
  f32: Op.less,
  string: Op.less,
  boolean: Op.less,
  i32: Op.lessSignedWord,
  i64: Op.lessSigned,
}

const LOWEST_BIT = { i32: 1n << 31n, i64: 1n << 63n } as const

/** A compiled expression. */
export interface Compiled {
  readonly program: Program
  readonly type: ValueType
  readonly nullable: boolean
  /** Of strings, by which the results are numbered. */
  readonly dictionary: StringDictionary | undefined
}

/** Parts of expressions that have been evaluated: they are columns by now. */
export type Evaluated = ReadonlyMap<TypedExpression, ProgramColumn>

/** Whether one program can evaluate an expression. */
export function fitsProgram(expression: TypedExpression, evaluated: Evaluated): boolean {
  const columns = new Set<number | TypedExpression>()
  collectColumns(expression, evaluated, columns)
  return columns.size <= PROGRAM_COLUMNS && registersFor(expression, evaluated) <= PROGRAM_REGISTERS
}

/** Whether an expression may be a fault for some row. */
export function isFallible(expression: TypedExpression): boolean {
  if (expression.kind === 'arithmetic' && expression.type !== 'f32') return true
  if (expression.kind === 'convert' && !goesWithoutFault(expression.args[0].type, expression.type))
    return true
  return argumentsOf(expression).some(isFallible)
}

/** @param columns by the numbers that the expression has for them */
export function compileExpression(
  expression: TypedExpression,
  columns: readonly ProgramColumn[],
  evaluated: Evaluated,
): Compiled {
  const compiler = new Compiler(columns, evaluated)
  const { type, nullable } = expression
  const dictionary = type === 'string' ? compiler.dictionary(expression) : undefined
  return { program: compiler.compile(expression, dictionary), type, nullable, dictionary }
}

/** A program that gives 1 for rows whose condition is true, or a fault that may be, else 0. */
export function compileCondition(
  condition: TypedExpression,
  columns: readonly ProgramColumn[],
  evaluated: Evaluated,
): Program {
  return new Compiler(columns, evaluated).compile(condition, undefined, Op.isTrue)
}

/** Brings the last value, of a type, into the form of an unsigned number with the same order. */
export function emitOrdered(builder: ProgramBuilder, type: ValueType): void {
  if (type === 'f32') builder.unary(Op.orderFloat)
  if (type !== 'i32' && type !== 'i64') return
  builder.constant(LOWEST_BIT[type])
  builder.binary(Op.xor)
}

/** What `emitOrdered` did is undone. */
export function emitRestored(builder: ProgramBuilder, type: ValueType): void {
  if (type === 'f32') builder.unary(Op.restoreFloat)
  else emitOrdered(builder, type)
}

/** The last value where the column has one, else a number. */
export function emitForNull(builder: ProgramBuilder, column: QueryColumn, number: bigint): void {
  builder.load(column)
  builder.unary(Op.isNull)
  builder.constant(number)
  builder.chooseLast()
}

function collectColumns(
  expression: TypedExpression,
  evaluated: Evaluated,
  columns: Set<number | TypedExpression>,
): void {
  if (evaluated.has(expression)) columns.add(expression)
  else if (expression.kind === 'column') columns.add(expression.index)
  else for (const argument of argumentsOf(expression)) collectColumns(argument, evaluated, columns)
}

/** Arguments take one after the other; beside each of a comparison of strings a constant is needed. */
function registersFor(expression: TypedExpression, evaluated: Evaluated): number {
  if (evaluated.has(expression)) return 1
  const least = expression.kind === 'comparison' ? 2 : 1
  return argumentsOf(expression).reduce(
    (most, argument, i) => Math.max(most, i + Math.max(least, registersFor(argument, evaluated))),
    1,
  )
}

class Compiler {
  readonly #columns: readonly ProgramColumn[]
  readonly #evaluated: Evaluated
  readonly #builder = new ProgramBuilder()

  constructor(columns: readonly ProgramColumn[], evaluated: Evaluated) {
    this.#columns = columns
    this.#evaluated = evaluated
  }

  /** @param dictionary by which a string is to be numbered */
  compile(expression: TypedExpression, dictionary: StringDictionary | undefined, then?: Operation): Program {
    this.#emit(expression, dictionary)
    if (then !== undefined) this.#builder.unary(then)
    return this.#builder.finish()
  }

  /** The dictionary of an expression that gives strings. */
  dictionary(expression: TypedExpression): StringDictionary {
    const column = this.#columnOf(expression)
    if (column !== undefined) return column.dictionary ?? dictionaryOf([])
    if (expression.kind === 'constant') {
      return dictionaryOf(typeof expression.value === 'string' ? [expression.value] : [])
    }
    const values = expression.kind === 'choose' ? expression.args.slice(1) : argumentsOf(expression)
    return values.map((value) => this.dictionary(value)).reduce(united)
  }

  #emit(expression: TypedExpression, dictionary: StringDictionary | undefined): void {
    const column = this.#columnOf(expression)
    if (column !== undefined) {
      this.#emitColumn(column, dictionary)
      return
    }
    const builder = this.#builder
    switch (expression.kind) {
      case 'constant':
        this.#emitConstant(expression, dictionary)
        return
      case 'arithmetic': {
        for (const argument of expression.args) this.#emit(argument, undefined)
        builder.binary(ARITHMETIC[arithmeticType(expression.args[0].type)][expression.op])
        return
      }
      case 'comparison':
        this.#emitComparison(expression.op, expression.args)
        return
      case 'and':
      case 'or': {
        for (const argument of expression.args) this.#emit(argument, undefined)
        builder.binary(Op[expression.kind])
        return
      }
      case 'not':
      case 'isNull': {
        this.#emitOwn(expression.args[0])
        builder.unary(Op[expression.kind])
        return
      }
      case 'match': {
        const { match, text, args } = expression
        const own = this.#emitOwn(args[0])
        builder.lookUp(Op.tableBit, matchTable(own ?? dictionaryOf([]), match, text))
        return
      }
      case 'convert':
        this.#emit(expression.args[0], undefined)
        this.#emitConversion(expression.args[0].type, expression.type)
        return
      case 'choose': {
        this.#emit(expression.args[0], undefined)
        this.#emit(expression.args[1], dictionary)
        this.#emit(expression.args[2], dictionary)
        builder.choose()
      }
    }
  }

  #columnOf(expression: TypedExpression): ProgramColumn | undefined {
    const evaluated = this.#evaluated.get(expression)
    return evaluated ?? (expression.kind === 'column' ? this.#columns[expression.index] : undefined)
  }

  /** Strings by their own dictionary, which is returned. */
  #emitOwn(expression: TypedExpression): StringDictionary | undefined {
    const dictionary = expression.type === 'string' ? this.dictionary(expression) : undefined
    this.#emit(expression, dictionary)
    return dictionary
  }

  #emitColumn(column: ProgramColumn, dictionary: StringDictionary | undefined): void {
    this.#builder.load(column)
    if (column.dictionary === undefined || dictionary === undefined || dictionary === column.dictionary)
      return
    const codes = Uint32Array.from({ length: column.dictionary.size }, (_, code) =>
      dictionary.lowerBound(column.dictionary!.at(code)),
    )
    this.#builder.lookUp(Op.tableWord, codes)
  }

  #emitConstant(
    { value, type }: Extract<TypedExpression, { kind: 'constant' }>,
    dictionary: StringDictionary | undefined,
  ): void {
    if (value === null) this.#builder.absent()
    else if (typeof value === 'string') this.#builder.constant(BigInt(dictionary?.lowerBound(value) ?? 0))
    else this.#builder.constant(constantBits(value, type))
  }

  #emitComparison(op: ComparisonOp, args: readonly [TypedExpression, TypedExpression]): void {
    const swapped = op === '>' || op === '<='
    const [first, second] = swapped ? [args[1], args[0]] : args
    if (first.type === 'string') this.#emitRanks(first, second)
    else {
      for (const argument of [first, second]) {
        this.#emit(argument, undefined)
        // Both zeros are equal, and NaN has a place: floats are compared by their order, integers as they are.
        if (argument.type === 'f32') emitOrdered(this.#builder, 'f32')
      }
    }
    const operation = op === '=' || op === '<>' ? Op.equal : LESS[first.type]
    this.#builder.compare(operation, op === '<>' || op === '<=' || op === '>=')
  }

  /**
   * Two strings as numbers with the same order. A constant that is not in the dictionary lies between two numbers of it, so all are doubled:
   * string n is 2n + 1, and what is missing before it 2n.
   */
  #emitRanks(first: TypedExpression, second: TypedExpression): void {
    const sides = [first, second]
    const others = sides.filter(({ kind }) => kind !== 'constant')
    const dictionary = (others.length > 0 ? others : sides)
      .map((side) => this.dictionary(side))
      .reduce(united)
    for (const side of sides) {
      if (side.kind === 'constant' && typeof side.value === 'string') {
        const known = codeOf(dictionary, side.value) !== undefined
        this.#builder.constant(BigInt(2 * dictionary.lowerBound(side.value) + (known ? 1 : 0)))
        continue
      }
      this.#emit(side, dictionary)
      this.#builder.constant(1n)
      this.#builder.shiftOr(1)
    }
  }

  #emitConversion(from: ValueType, to: ValueType): void {
    const builder = this.#builder
    if (from === 'i32') builder.unary(Op.extendSign)
    if (to === 'f32') builder.unary(from === 'i32' || from === 'i64' ? Op.signedToFloat : Op.unsignedToFloat)
    else if (to === 'i32') {
      if (from === 'u64') builder.unary(Op.checkSign)
      builder.unary(Op.checkSignedWord)
    } else if (to === 'u32') builder.unary(Op.checkWord)
    else if (from === 'u64' || (to === 'u64' && from !== 'u32')) builder.unary(Op.checkSign)
  }
}

function united(left: StringDictionary, right: StringDictionary): StringDictionary {
  return left === right ? left : mergeDictionaries(left, right).dictionary
}

function arithmeticType(type: ValueType): 'i64' | 'u64' | 'f32' {
  if (type === 'i64' || type === 'u64' || type === 'f32') return type
  throw new WarpdexError('INTERNAL', `no arithmetic is done in ${type}`)
}

/** The words of a constant as a column would have them. */
function constantBits(value: bigint | number | boolean, type: ValueType): bigint {
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (type === 'f32') return BigInt(new Uint32Array(Float32Array.of(Number(value)).buffer)[0]!)
  return BigInt.asUintN(type === 'i32' || type === 'u32' ? 32 : 64, BigInt(value))
}
