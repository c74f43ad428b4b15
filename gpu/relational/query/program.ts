import { WarpdexError } from '../../../protocol/errors.js'
import { Op, type Operation } from './opcodes.js'
import { type QueryColumn, valueWords } from './query-column.js'

/** Columns that one program can read, and registers that it can use; `evaluate.wesl` has as many. */
export const PROGRAM_COLUMNS = 4
const PROGRAM_REGISTERS = 16

/** A column as programs read it. */
export interface ProgramColumn extends QueryColumn {
  /** Whether a bit for each row whose value is a fault lies behind the validity, from its next whole word on. */
  readonly hasFaults?: boolean
}

/** What the kernel runs for every row (`evaluate.wesl`). */
export interface Program {
  /** Instructions, then tables. */
  readonly words: Uint32Array
  /** Words of the instructions. */
  readonly length: number
  readonly columns: readonly ProgramColumn[]
  /** Whether a result may be a fault. */
  readonly fallible: boolean
  /** Whether it has quotients. */
  readonly divides: boolean
}

const FALLIBLE: ReadonlySet<Operation> = new Set([
  Op.add,
  Op.subtract,
  Op.multiply,
  Op.addUnsigned,
  Op.subtractUnsigned,
  Op.multiplyUnsigned,
  Op.checkSign,
  Op.checkWord,
  Op.checkSignedWord,
])

const DIVIDING: ReadonlySet<Operation> = new Set([Op.divideFloat, Op.divideSigned, Op.divideUnsigned])

/** Puts a program together in postfix order: registers are a stack, of which the lowest is the result in the end. */
export class ProgramBuilder {
  readonly #words: number[] = []
  readonly #columns: ProgramColumn[] = []
  readonly #tables: { readonly at: number; readonly table: Uint32Array }[] = []
  #depth = 0
  #fallible = false
  #divides = false

  load(column: ProgramColumn): void {
    this.#fallible ||= column.hasFaults === true
    let slot = this.#columns.indexOf(column)
    if (slot < 0) slot = this.#columns.push(column) - 1
    if (slot >= PROGRAM_COLUMNS) throw new WarpdexError('INTERNAL', 'an expression reads too many columns')
    this.#emit(valueWords(column.type) === 2 ? Op.loadWide : Op.load, this.#depth++, slot)
  }

  /** A number below 2^64. */
  constant(value: bigint): void {
    this.#emit(Op.constant, this.#depth++)
    this.#words.push(Number(value & 0xffffffffn), Number(value >> 32n))
  }

  absent(): void {
    this.#emit(Op.absent, this.#depth++)
  }

  /** Replaces the last value. */
  unary(operation: Operation): void {
    const last = this.#depth - 1
    this.#emit(operation, last, last, last)
  }

  /** Replaces the last two values. */
  binary(operation: Operation): void {
    this.#depth--
    this.#emit(operation, this.#depth - 1, this.#depth - 1, this.#depth)
  }

  /**
   * Replaces the last two values by the answer of a comparison.
   * @param turned whether by the opposite of it
   */
  compare(operation: Operation, turned: boolean): void {
    this.#depth--
    this.#emit(operation, this.#depth - 1, this.#depth - 1, this.#depth, turned ? 1 : 0)
  }

  /** Of the last three values, a condition and two others, keeps the first of these where the condition is true, else the second. */
  choose(): void {
    this.#depth -= 2
    const at = this.#depth - 1
    this.#emit(Op.choose, at, at, at + 1, at + 2)
  }

  /** Of the last three values, the second a condition, keeps the third where that is true, else the first. */
  chooseLast(): void {
    this.#depth -= 2
    const at = this.#depth - 1
    this.#emit(Op.choose, at, at + 1, at + 2, at)
  }

  /** Replaces the last two values by one: the first shifted left, and the second, which has no more bits than that. */
  shiftOr(bits: number): void {
    this.binary(Op.shiftOr)
    this.#words.push(bits)
  }

  /** Replaces the last value by what a table has for it: a bit of `tableBit`, a word of `tableWord`. */
  lookUp(operation: typeof Op.tableBit | typeof Op.tableWord, table: Uint32Array): void {
    this.unary(operation)
    this.#tables.push({ at: this.#words.length, table })
    this.#words.push(0)
  }

  finish(): Program {
    const length = this.#words.length
    const tableWords = this.#tables.reduce((sum, { table }) => sum + table.length, 0)
    const words = new Uint32Array(length + tableWords)
    words.set(this.#words)
    let end = length
    for (const { at, table } of this.#tables) {
      words.set(table, end)
      words[at] = end
      end += table.length
    }
    return { words, length, columns: this.#columns, fallible: this.#fallible, divides: this.#divides }
  }

  #emit(operation: Operation, target: number, a = 0, b = 0, c = 0): void {
    if (target >= PROGRAM_REGISTERS)
      throw new WarpdexError('INTERNAL', 'an expression needs too many registers')
    this.#fallible ||= FALLIBLE.has(operation)
    this.#divides ||= DIVIDING.has(operation)
    this.#words.push((operation | (target << 8) | (a << 14) | (b << 20) | (c << 26)) >>> 0)
  }
}
