import type { ColumnType } from '../../../protocol/column-types.js'
import { asBytes } from '../../../protocol/columns.js'
import { getOrInsert } from '../../../protocol/get-or-insert.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import { type DeviceWork, EXPRESSION_FAULT } from '../query/device-work.js'
import type { RowNumbers } from '../query/fetch.js'
import { bytesOf, ROW_BYTES, valueWords } from '../query/query-column.js'
import {
  type FaultyColumn,
  IS_FAULT,
  type RowColumn,
  type RowValue,
  type ValueWords,
  wgslType,
} from './row-value.js'

/** Where a column is read: the WGSL of a row's number, and of whether there is such a row. */
interface Place {
  readonly at: string
  readonly present: string | undefined
}

/** The modules of functions that generated code calls. */
const LIBRARIES = {
  values: 'relational::expressions::values',
  wide: 'relational::expressions::wide',
  divide: 'relational::expressions::divide',
  double: 'relational::expressions::double',
  integers128: 'relational::expressions::integers_128',
  rounding: 'relational::expressions::double_rounding',
  wholes: 'relational::expressions::whole_division',
  dates: 'relational::expressions::dates',
  order: 'relational::order::ordered_float',
  sums: 'relational::group::sums',
  doubleSums: 'relational::group::double_sums',
  averages: 'relational::group::double_averages',
  variance: 'relational::group::double_variance',
  slots: 'relational::group::slot_table',
  match: 'relational::selection::match',
} as const

/** What a buffer is bound as an array of. */
export type Element = 'u32' | 'vec2u' | 'vec4u'

/** What a value is beside its WGSL. */
export type Facts = Partial<Pick<RowValue, 'valid' | 'fault' | 'dictionary'>>

/** Statements, and the quads of arguments that they read: `args0`, `args1`, … */
export interface FunctionBody {
  readonly quads: readonly number[]
  readonly statements: readonly string[]
}

/** The statement that loads four arguments, since a load takes long to compile, and is checked. */
export function loadOfQuad(quad: number): string {
  return `let args${quad} = args[${quad}u];`
}

/** The quads that some arguments lie in. */
function quadsOf(first: number, end: number): number[] {
  const quads: number[] = []
  for (let argument = first; argument < end; argument += 4 - (argument % 4)) quads.push(argument >> 2)
  return quads
}

/** WGSL for a row that is put together statement by statement, and the buffers and arguments that it reads. Names are numbered in their order. */
export class RowText {
  readonly #row: string
  readonly #firstBinding: number
  readonly #statements: string[] = []
  readonly #functions = new Map<string, string>()
  readonly #imports = new Map<keyof typeof LIBRARIES, Set<string>>()
  readonly #bound: {
    readonly buffer: DeviceMemory
    readonly element: Element
    readonly name: string
  }[] = []
  readonly #loaded = new Map<string, RowValue>()
  readonly #places = new Map<DeviceMemory, Place>()
  readonly #args: number[] = []
  readonly #tables: { readonly words: Uint32Array; readonly argument: number; readonly value: string }[] = []
  /** The first argument, and the first table, of the statements at hand. */
  #firstOwn = { argument: 0, table: 0 }
  /** Bytes of the columns that are read for a row. */
  #rowBytes = 0
  #names = 0
  #weight = 0
  #hasFaults = false

  /**
   * @param row WGSL name of the row's number
   * @param firstBinding numbers of bindings from here on are its own
   */
  constructor(row: string, firstBinding: number) {
    this.#row = row
    this.#firstBinding = firstBinding
  }

  /** WGSL of the row's number. */
  get row(): string {
    return this.#row
  }

  /** Adds statements. All stand in one block: what others have named is there for those that come later. */
  emit(...statements: readonly string[]): void {
    this.#statements.push(...statements)
  }

  /** A name that nothing else has. */
  name(): string {
    return `v${this.#names++}`
  }

  /** Names what an expression comes to. */
  let(expression: string): string {
    const name = this.name()
    this.emit(`let ${name} = ${expression};`)
    return name
  }

  /** A function of a library, to be called by this name. */
  use(library: keyof typeof LIBRARIES, name: string): string {
    getOrInsert(this.#imports, library, () => new Set()).add(name)
    return name
  }

  /** A function with this text, to be called by this name. */
  define(name: string, text: string): string {
    this.#functions.set(name, text)
    return name
  }

  /** Has a value's fault be one of the query. Returns the value, which is none then. */
  noted(value: RowValue, fault = EXPRESSION_FAULT): RowValue {
    if (value.fault === undefined) return value
    this.#hasFaults = true
    this.emit(`if (${value.fault}) { atomicOr(&faults[0], ${fault}u); }`)
    return { ...value, fault: undefined }
  }

  /** Tells how much longer than a statement of a few instructions something takes. */
  weigh(weight: number): void {
    this.#weight += weight
  }

  get weight(): number {
    return this.#weight + this.#statements.length
  }

  /** A value that is computed here. */
  computed(type: ColumnType, expression: string, facts: Facts = {}): RowValue {
    const { valid, fault, dictionary } = facts
    return { type, words: valueWords(type), value: this.let(expression), valid, fault, dictionary }
  }

  /** A number, which is no part of the text: other numbers in its place make the same text. */
  constant(bits: bigint, words: ValueWords): RowValue {
    const each = Array.from({ length: words }, (_, i) =>
      this.word(Number((bits >> BigInt(32 * i)) & 0xffffffffn)),
    )
    const value = words === 1 ? each[0]! : `${wgslType(words)}(${each.join(', ')})`
    const type = words === 1 ? 'u32' : words === 2 ? 'u64' : 'i128'
    return { type, words, value, valid: undefined, fault: undefined, dictionary: undefined }
  }

  /** WGSL of a word that is no part of the text. */
  word(value: number): string {
    const place = this.#args.push(value >>> 0) - 1
    return `args${place >> 2}.${'xyzw'[place & 3]}`
  }

  /** WGSL of the place in `tables` where a table begins. */
  table(words: Uint32Array): string {
    const known = this.#tables.find((table, i) => i >= this.#firstOwn.table && table.words === words)
    if (known !== undefined) return known.value
    const value = this.word(0)
    this.#tables.push({ words, argument: this.#args.length - 1, value })
    return value
  }

  /** Takes the statements at hand, to stand in a function. What they have named is forgotten: others stand elsewhere. */
  protected takeStatements(): FunctionBody {
    const quads = quadsOf(this.#firstOwn.argument, this.#args.length)
    this.#firstOwn = { argument: this.#args.length, table: this.#tables.length }
    this.#loaded.clear()
    this.#places.clear()
    this.#weight += this.#statements.length
    return { quads, statements: this.#statements.splice(0) }
  }

  /** WGSL name of a buffer as an array. */
  bind(buffer: DeviceMemory, element: Element): string {
    const known = this.#bound.find((bound) => bound.buffer === buffer && bound.element === element)
    if (known !== undefined) return known.name
    const name = `source${this.#bound.length}`
    this.#bound.push({ buffer, element, name })
    return name
  }

  /** The value of a column in the row. */
  column({ source, rows }: RowColumn): RowValue {
    const { type, values, validity, dictionary } = source
    const words = valueWords(type)
    const name = this.bind(values, wgslType(words))
    const { at, present } = this.#place(rows)
    const loaded = `${name}[${at}]`
    const key = [type, loaded, validity && this.bind(validity, 'u32')].join()
    const before = this.#loaded.get(key)
    if (before !== undefined && before.dictionary === dictionary) return before
    const value = this.let(
      present === undefined ? loaded : `select(${wgslType(words)}(), ${loaded}, ${present})`,
    )
    const { valid, fault } = this.#facts(source, { at, present })
    const read: RowValue = { type, words, value, valid, fault, dictionary }
    this.#loaded.set(key, read)
    this.#rowBytes += bytesOf(source)
    return read
  }

  /** WGSL bool: whether a column has a value in the row; undefined where it always has. */
  hasValue({ source, rows }: RowColumn): string | undefined {
    return this.#facts(source, this.#place(rows)).valid
  }

  /** Storage bindings, `args`, `tables` and `faults` among them, and functions. */
  get declarations(): string {
    const lines = this.#bound.map(({ name, element }) => `var<storage, read> ${name}: array<${element}>;`)
    if (this.#args.length > 0) lines.push('var<storage, read> args: array<vec4u>;')
    if (this.#tables.length > 0) lines.push('var<storage, read> tables: array<u32>;')
    if (this.#hasFaults) lines.push('var<storage, read_write> faults: array<atomic<u32>>;')
    const bound = lines.map((line, i) => `@group(0) @binding(${this.#firstBinding + i}) ${line}`)
    return [...bound, ...this.#functions.values()].join('\n')
  }

  get statements(): string {
    return [...quadsOf(0, this.#args.length).map(loadOfQuad), ...this.#statements].join('\n  ')
  }

  get imports(): string {
    const lines = Array.from(
      this.#imports,
      ([library, names]) => `import package::${LIBRARIES[library]}::{${[...names].join(', ')}};`,
    )
    return lines.join('\n')
  }

  /** Storage buffers that it binds. */
  get bindings(): number {
    const others = [this.#args.length > 0, this.#tables.length > 0, this.#hasFaults]
    return this.#bound.length + others.filter(Boolean).length
  }

  /**
   * What it binds, by the names that kernels are dispatched with; the arguments go up with what is recorded next.
   * @param rows for which reading its columns counts (`DeviceWork.moves`)
   */
  buffers(work: DeviceWork, rows: number): Readonly<Record<string, DeviceMemory>> {
    work.moves({ read: rows * this.#rowBytes })
    const named = Object.fromEntries(this.#bound.map(({ name, buffer }) => [name, buffer]))
    if (this.#hasFaults) {
      work.mayHaveFault = true
      named.faults = work.faults
    }
    // Arguments and tables are in one buffer.
    if (this.#args.length > 0) named.tables = named.args = work.upload(asBytes(this.#arguments()))
    return named
  }

  #facts({ validity, states }: FaultyColumn, { at, present }: Place): Facts {
    const word = validity && `${this.bind(validity, 'u32')}[${at} / 32u]`
    const known = word && `(((${word} >> (${at} % 32u)) & 1u) != 0u)`
    const state = states && this.let(`${this.bind(states, 'u32')}[${at}]`)
    const bools = [present, known, state && `(${state} != 0u)`].filter((bool) => bool !== undefined)
    const valid = bools.length === 0 ? undefined : this.let(bools.join(' & '))
    return { valid, fault: state && this.let(`${state} == ${IS_FAULT}u`) }
  }

  #arguments(): Uint32Array {
    const length = this.#tables.reduce((sum, { words }) => sum + words.length, this.#args.length)
    const words = new Uint32Array(length)
    words.set(this.#args)
    let end = this.#args.length
    for (const { words: table, argument } of this.#tables) {
      words.set(table, end)
      words[argument] = end
      end += table.length
    }
    return words
  }

  #place(rows: RowNumbers | undefined): Place {
    if (rows === undefined) return { at: this.#row, present: undefined }
    const known = this.#places.get(rows.buffer)
    if (known !== undefined) return known
    const number = this.let(`${this.bind(rows.buffer, 'u32')}[${this.#row}]`)
    const present = rows.outer ? this.let(`${number} != ${NO_ROW}`) : undefined
    const at = present === undefined ? number : this.let(`select(0u, ${number}, ${present})`)
    const place = { at, present }
    this.#places.set(rows.buffer, place)
    this.#rowBytes += ROW_BYTES
    return place
  }
}

/** The number of no row, as `fetch.wesl` has it. */
const NO_ROW = '0xffffffffu'
