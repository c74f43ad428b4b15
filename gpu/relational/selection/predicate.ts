import { WarpdexError } from '../../../protocol/errors.js'
import type { QueryColumn } from '../query/query-column.js'
import { isEverything, type StoredIntervals, storedIntervals } from './intervals.js'
import {
  type Answer,
  type ExpressionTest,
  type Group,
  predicateText,
  rowsOf,
  type SourceKind,
} from './predicate-text.js'
import type { ValueSet } from './selection-types.js'
import type { Test, TextTest } from './tests.js'

/** Tests of up to so many intervals are written out, one after the other. */
export const FEW_INTERVALS = 4

/** Bits of a table of values at most: it should stay in the caches beside the columns. */
export const TABLE_BITS = 1 << 16

/** All rows of a nibble. */
const ALL = 15

/** A predicate as the kernel gets it. */
export interface Predicate {
  /** Of the module `plan`; it depends on the shape of tests and columns, not on what they compare with. */
  readonly text: string
  readonly arguments: Uint32Array
  /** By the names that the text has for them. */
  readonly buffers: Readonly<Record<string, GPUBuffer>>
  /** What reads buffers of its own. */
  readonly expression: ExpressionTest | undefined
}

/**
 * The predicate of groups of tests.
 * @param isListed whether entries are those of a list
 * @param loads see `predicateText`
 */
export function predicateOf(
  groups: readonly (readonly Test[])[],
  isListed: boolean,
  loads: number,
): Predicate {
  const builder = new PredicateBuilder(isListed)
  return builder.finish(
    groups.map((group) => builder.group(group)),
    loads,
  )
}

/** Puts the predicate of one kernel together: answers of tests, what they read, and what they compare with. */
class PredicateBuilder {
  readonly #sources: { readonly kind: SourceKind; readonly buffer: GPUBuffer }[] = []
  readonly #arguments: number[] = []
  readonly #tables: { readonly at: number; readonly words: readonly number[] }[] = []
  readonly #isListed: boolean
  /** Those of the group at hand that are read at entries. */
  #read = new Set<number>()
  #expression: ExpressionTest | undefined

  constructor(isListed: boolean) {
    this.#isListed = isListed
  }

  group(tests: readonly Test[]): Group {
    this.#read = new Set()
    const answers = tests.map((test) => this.#answer(test))
    return { sources: [...this.#read], answers }
  }

  finish(groups: readonly Group[], loads: number): Predicate {
    const length = this.#tables.reduce((sum, { words }) => sum + words.length, this.#arguments.length)
    const all = new Uint32Array(Math.max(1, length))
    let end = this.#arguments.length
    for (const { at, words } of this.#tables) {
      this.#arguments[at] = end
      all.set(words, end)
      end += words.length
    }
    all.set(this.#arguments)
    const kinds = this.#sources.map(({ kind }) => kind)
    const expression = this.#expression
    const parts = { sources: kinds, isListed: this.#isListed, groups, expression }
    return {
      text: predicateText(parts, loads),
      arguments: all,
      buffers: Object.fromEntries(this.#sources.map(({ buffer }, i) => [`input${i}`, buffer])),
      expression,
    }
  }

  #answer(test: Test): Answer {
    switch (test.kind) {
      case 'values':
        return this.#values(test.column, test.set)
      case 'text':
        return this.#text(test)
      case 'lookUp': {
        const table = this.#source('table', test.bits)
        const { values, known } = this.#strings(test.column)
        return (q) => {
          const bits = `load_${table}(${values(q)})`
          return known === undefined ? bits : `(${bits} & ${known(q)})`
        }
      }
      case 'marked':
        return this.#entries('marks', test.bits)
      case 'any':
        return this.#any(test.branches)
      case 'expression':
        this.#expression = test
        return (q) => `expression_rows(${rowsOf(this.#isListed, q)}, left_${q})`
    }
  }

  #any(all: readonly (readonly Test[])[]): Answer {
    const branches = all.map((branch) => branch.map((part) => this.#answer(part)))
    const answerOf = (branch: readonly Answer[], q: number) =>
      branch.length === 0 ? `${ALL}u` : branch.map((part) => part(q)).join(' & ')
    if (branches.length === 0) return () => '0u'
    return (q) => `(${branches.map((branch) => `(${answerOf(branch, q)})`).join(' | ')})`
  }

  #text({ column, match, text, negated, texts, strings }: TextTest): Answer {
    const bytes = new TextEncoder().encode(text)
    const at = this.#push(bytes.length)
    this.#pushTable(wordsOfBytes(bytes))
    this.#push(strings, negated ? ALL : 0)
    const source = this.#source('texts', texts)
    const { values, known } = column === undefined ? NUMBERS : this.#strings(column)
    return (q) => {
      const rows = known === undefined ? `left_${q}` : `left_${q} & ${known(q)}`
      return `match_${match}(${source}u, ${values(q)}, ${rows}, ${at}u)`
    }
  }

  #strings({ values, validity }: QueryColumn): {
    readonly values: Answer
    readonly known: Answer | undefined
  } {
    return {
      values: this.#entries('word', values),
      known: validity && this.#entries('bits', validity),
    }
  }

  #values(column: QueryColumn, set: ValueSet): Answer {
    const stored = storedIntervals(set.intervals, column.type)
    const nulls = set.nulls ? ALL : 0
    const all = isEverything(stored)
    if (all || stored.intervals.length === 0) {
      const at = this.#push(all ? ALL : 0, nulls)
      return this.#unlessNull(() => `argument(${at}u)`, column, at + 1)
    }
    const wide = stored.bits === 64
    const kind = kindOf(stored)
    const loaded = this.#entries(wide ? 'wide' : 'word', column.values)
    const values: Answer = column.type === 'f32' ? (q) => `ordered_floats(${loaded(q)})` : loaded
    const name = `within_${wide ? 'wide_' : ''}${kind}`
    const at = this.#pushSet(kind, stored)
    const count = kind === 'interval' ? stored.intervals.length : 1
    const words = argumentWords(kind, wide)
    if (this.#arguments.length - at !== count * words) {
      throw new WarpdexError('INTERNAL', `the test ${kind} has other arguments than its kernel expects`)
    }
    const known: Answer = (q) => {
      const parts = Array.from({ length: count }, (_, i) => `${name}(${values(q)}, ${at + i * words}u)`)
      return parts.length === 1 ? parts[0]! : `(${parts.join(' | ')})`
    }
    return this.#unlessNull(known, column, column.validity === undefined ? 0 : this.#push(nulls))
  }

  /** @param at the argument that answers for nulls */
  #unlessNull(known: Answer, { validity }: QueryColumn, at: number): Answer {
    if (validity === undefined) return known
    const present = this.#entries('bits', validity)
    return (q) => `unless_null(${known(q)}, ${present(q)}, ${at}u)`
  }

  #pushSet(kind: SetTest, { bits, lowest, intervals }: StoredIntervals): number {
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

  /** What a source has of a quad's entries. */
  #entries(kind: SourceKind, buffer: GPUBuffer): Answer {
    const source = this.#source(kind, buffer)
    this.#read.add(source)
    return (q) => `a${source}_${q}`
  }

  /** The number of a source, which has one however often it is read. */
  #source(kind: SourceKind, buffer: GPUBuffer): number {
    const known = this.#sources.findIndex((source) => source.buffer === buffer && source.kind === kind)
    return known >= 0 ? known : this.#sources.push({ kind, buffer }) - 1
  }
}

/** Entries that are the values themselves. */
const NUMBERS = {
  values: (q: number) => rowsOf(false, q),
  known: undefined,
}

/** How a set of values is tested: by each of its intervals, by a search among them, by a bit for each value. */
type SetTest = 'interval' | 'intervals' | 'table'

function kindOf({ intervals }: StoredIntervals): SetTest {
  if (intervals.length <= FEW_INTERVALS) return 'interval'
  return intervals.at(-1)!.high < TABLE_BITS ? 'table' : 'intervals'
}

/** Words of a test's arguments, without the answer for nulls. */
function argumentWords(kind: SetTest, wide: boolean): number {
  if (kind === 'interval') return wide ? 4 : 2
  return wide ? 4 : 3
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
