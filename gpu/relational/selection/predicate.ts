import { WarpdexError } from '../../../protocol/errors.js'
import type { QueryColumn } from '../query/query-column.js'
import { isEverything, type StoredIntervals, storedIntervals } from './intervals.js'
import { type PredicateShape, type SourceKind, type TestShape, testWords } from './predicate-shape.js'
import type { ValueSet } from './selection-types.js'
import type { Testable, TextTest } from './testable.js'

/** Tests of up to so many intervals are written out, one after the other. */
export const FEW_INTERVALS = 4

/** Bits of a table of values at most: it should stay in the caches beside the columns. */
export const TABLE_BITS = 1 << 16

/** All rows of a nibble. */
const ALL = 15

/** A predicate as the kernel gets it. */
export interface Predicate {
  readonly shape: PredicateShape
  readonly arguments: Uint32Array
  /** Of the shape's sources. */
  readonly buffers: readonly GPUBuffer[]
}

/** Puts the predicate of one kernel together: shapes of tests, what they read, and what they compare with. */
export class PredicateBuilder {
  readonly #columns: readonly QueryColumn[]
  readonly #sources: { readonly kind: SourceKind; readonly buffer: GPUBuffer }[] = []
  readonly #arguments: number[] = []
  readonly #tables: { readonly at: number; readonly words: readonly number[] }[] = []
  readonly #groups: TestShape[][] = []

  constructor(columns: readonly QueryColumn[]) {
    this.#columns = columns
  }

  addGroup(conditions: readonly Testable[]): void {
    this.#groups.push(conditions.map((condition) => this.#test(condition)))
  }

  finish(listed: boolean): Predicate {
    const length = this.#tables.reduce((sum, { words }) => sum + words.length, this.#arguments.length)
    const all = new Uint32Array(Math.max(1, length))
    let end = this.#arguments.length
    for (const { at, words } of this.#tables) {
      this.#arguments[at] = end
      all.set(words, end)
      end += words.length
    }
    all.set(this.#arguments)
    const shape = { sources: this.#sources.map(({ kind }) => kind), listed, groups: this.#groups }
    return { shape, arguments: all, buffers: this.#sources.map(({ buffer }) => buffer) }
  }

  #test(condition: Testable): TestShape {
    switch (condition.kind) {
      case 'values':
        return this.#values(this.#columns[condition.column]!, condition.set)
      case 'text':
        return this.#text(condition)
      case 'lookUp': {
        const table = this.#source('table', condition.bits)
        return { kind: 'lookUp', table, ...this.#strings(this.#columns[condition.column]!) }
      }
      case 'marked':
        return { kind: 'marked', marks: this.#source('marks', condition.bits) }
      case 'any': {
        const branches = condition.branches.map((branch) => branch.map((part) => this.#test(part)))
        return { kind: 'any', branches }
      }
    }
  }

  #text({ column, match, text, negated, texts, strings }: TextTest): TestShape {
    const bytes = new TextEncoder().encode(text)
    const at = this.#push(bytes.length)
    this.#pushTable(wordsOfBytes(bytes))
    this.#push(strings, negated ? ALL : 0)
    const read =
      column === undefined
        ? { values: undefined, validity: undefined }
        : this.#strings(this.#columns[column]!)
    return { kind: 'text', match, at, texts: this.#source('texts', texts), ...read }
  }

  #strings({ values, validity }: QueryColumn): { values: number; validity: number | undefined } {
    return {
      values: this.#source('word', values),
      validity: validity && this.#source('bits', validity),
    }
  }

  #values(column: QueryColumn, set: ValueSet): TestShape {
    const { validity: bits } = column
    const stored = storedIntervals(set.intervals, column.type)
    const nulls = set.nulls ? ALL : 0
    const all = isEverything(stored)
    if (all || stored.intervals.length === 0) {
      const at = this.#push(all ? ALL : 0, nulls)
      return { kind: 'fixed', at, validity: bits && this.#source('bits', bits) }
    }
    const wide = stored.bits === 64
    const kind = kindOf(stored)
    const values = this.#source(wide ? 'wide' : 'word', column.values)
    const validity = bits && this.#source('bits', bits)
    const count = kind === 'interval' ? stored.intervals.length : 1
    const at = this.#pushSet(kind, stored)
    if (this.#arguments.length - at !== count * testWords(kind, wide)) {
      throw new WarpdexError('INTERNAL', `the test ${kind} has other arguments than its kernel expects`)
    }
    if (validity !== undefined) this.#push(nulls)
    return { kind, at, count, values, float: column.type === 'f32', validity }
  }

  #pushSet(kind: 'interval' | 'intervals' | 'table', { bits, lowest, intervals }: StoredIntervals): number {
    const words = (value: bigint) => wordsOfNumber(BigInt.asUintN(bits, value), bits)
    if (kind === 'interval') {
      return this.#push(
        ...intervals.flatMap(({ low, high }) => [...words(lowest + low), ...words(high - low)]),
      )
    }
    const at = this.#push(...words(lowest))
    if (kind === 'table') {
      const size = Number(intervals.at(-1)!.high) + 1
      this.#push(size)
      this.#pushTable(tableOf(intervals, size))
      return at
    }
    this.#push(intervals.length)
    this.#pushTable([
      ...intervals.flatMap(({ low }) => words(low)),
      ...intervals.flatMap(({ high }) => words(high)),
    ])
    return at
  }

  /** The argument that says where a table begins. */
  #pushTable(words: readonly number[]): void {
    this.#tables.push({ at: this.#push(0), words })
  }

  #push(...words: readonly number[]): number {
    return this.#arguments.push(...words) - words.length
  }

  /** The number of a source, which has one however often it is read. */
  #source(kind: SourceKind, buffer: GPUBuffer): number {
    const known = this.#sources.findIndex((source) => source.buffer === buffer && source.kind === kind)
    return known >= 0 ? known : this.#sources.push({ kind, buffer }) - 1
  }
}

function kindOf({ intervals }: StoredIntervals): 'interval' | 'intervals' | 'table' {
  if (intervals.length <= FEW_INTERVALS) return 'interval'
  return intervals.at(-1)!.high < TABLE_BITS ? 'table' : 'intervals'
}

function tableOf(intervals: StoredIntervals['intervals'], size: number): number[] {
  const table = new Uint32Array(Math.ceil(size / 32))
  for (const { low, high } of intervals) {
    for (let bit = Number(low); bit <= Number(high); bit++) table[bit >> 5]! |= 1 << (bit & 31)
  }
  return [...table]
}

function wordsOfNumber(value: bigint, bits: 32 | 64): number[] {
  const low = Number(value & 0xffffffffn)
  return bits === 32 ? [low] : [low, Number(value >> 32n)]
}

/** Bytes as words, the last one filled up with zeros. */
function wordsOfBytes(bytes: Uint8Array): number[] {
  const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4)
  padded.set(bytes)
  return [...new Uint32Array(padded.buffer)]
}
