import { asBytes } from '../../../protocol/columns.js'
import type { MatchKind } from '../../../protocol/query/tree.js'
import type { RowCode } from '../expressions/row-code.js'
import type { RowValue } from '../expressions/row-value.js'
import type { DeviceWork } from '../query/device-work.js'
import { dictionaryOf, matchTable, prefixRange } from '../query/dictionaries.js'
import type { QueryColumn } from '../query/query-column.js'
import type { StringDictionary } from '../string-dictionary.js'
import type { DictionaryTexts } from './dictionary-texts.js'
import type { Mark } from './mark.js'
import type { Condition, Interval, ValueSet } from './selection-types.js'

/**
 * How strings are matched: the string of each row that is looked at, or first all strings of the dictionary, after which rows look up the
 * answer for their string.
 */
export type MatchBy = 'row' | 'dictionary'

/** Strings against a text, by their bytes on the device. */
export interface TextTest {
  readonly kind: 'text'
  /** Undefined where the entries are the numbers of the strings themselves. */
  readonly column: QueryColumn | undefined
  readonly match: MatchKind
  readonly text: string
  readonly negated: boolean
  /** The dictionary's texts (`match.wesl`), and how many there are. */
  readonly texts: GPUBuffer
  readonly strings: number
}

/** A condition in a form that a kernel can evaluate. */
export type Test =
  | { readonly kind: 'values'; readonly column: QueryColumn; readonly set: ValueSet }
  | TextTest
  /** A bit for each value of a column. */
  | { readonly kind: 'lookUp'; readonly column: QueryColumn; readonly bits: GPUBuffer }
  /** 1 for rows where an expression is true, or a fault that may be. One kernel has one such test. */
  | { readonly kind: 'expression'; readonly code: RowCode; readonly passes: RowValue }
  /** A bit for each entry. */
  | { readonly kind: 'marked'; readonly bits: GPUBuffer }
  | { readonly kind: 'any'; readonly branches: readonly (readonly Test[])[] }

/** How many buffers tests bind in one kernel. */
export function buffersOf(tests: readonly Test[]): number {
  const buffers = new Set<GPUBuffer>()
  let ofExpressions = 0
  const addColumn = (column: QueryColumn | undefined) => {
    if (column !== undefined) buffers.add(column.values)
    if (column?.validity !== undefined) buffers.add(column.validity)
  }
  const add = (test: Test) => {
    switch (test.kind) {
      case 'any':
        return test.branches.flat().forEach(add)
      case 'expression':
        ofExpressions += test.code.bindings + (test.passes.fault === undefined ? 0 : 1)
        return
      case 'text':
        buffers.add(test.texts)
        return addColumn(test.column)
      case 'lookUp':
        addColumn(test.column)
        break
      case 'values':
        return addColumn(test.column)
    }
    buffers.add(test.bits)
  }
  tests.forEach(add)
  return buffers.size + ofExpressions
}

type MatchCondition = Extract<Condition, { kind: 'match' }>

/** Brings `match` conditions into a form that kernels evaluate. */
export class MatchTests {
  readonly #texts: DictionaryTexts
  readonly #mark: Mark

  constructor(texts: DictionaryTexts, mark: Mark) {
    this.#texts = texts
    this.#mark = mark
  }

  async of(work: DeviceWork, condition: MatchCondition, column: QueryColumn, by: MatchBy): Promise<Test> {
    const { match, text, negated } = condition
    const { dictionary = dictionaryOf([]) } = column
    // In the order of strings those that begin with a text are neighbours, which the dictionary itself knows.
    if (match === 'startsWith' && by === 'dictionary') {
      return { kind: 'values', column, set: prefixSet(dictionary, text, negated) }
    }
    const texts = await this.#texts.use(work, dictionary)
    if (texts === undefined) {
      return { kind: 'lookUp', column, bits: work.upload(hostTable(dictionary, condition)) }
    }
    const test: TextTest = { kind: 'text', column, match, text, negated, texts, strings: dictionary.size }
    if (by === 'row') return test
    // A selection over the numbers of the strings.
    const numbers = { bound: dictionary.size, live: undefined, list: undefined }
    const bits = await this.#mark.bits(work, numbers, [[{ ...test, column: undefined }]])
    return { kind: 'lookUp', column, bits }
  }
}

function prefixSet(dictionary: StringDictionary, text: string, negated: boolean): ValueSet {
  const [first, end] = prefixRange(dictionary, text).map(BigInt) as [bigint, bigint]
  const last = BigInt(dictionary.size) - 1n
  const inside: Interval = { low: first, high: end - 1n }
  const outside: Interval[] =
    first === end
      ? [{ low: 0n, high: last }]
      : [
          { low: 0n, high: first - 1n },
          { low: end, high: last },
        ]
  const intervals = negated ? outside : [inside]
  return { intervals: intervals.filter(({ low, high }) => low <= high), nulls: false }
}

/** The table of a dictionary that no binding holds, from the host. */
function hostTable(dictionary: StringDictionary, { match, text, negated }: MatchCondition): Uint8Array {
  const table = matchTable(dictionary, match, text)
  return asBytes(negated ? table.map((word) => ~word) : table)
}
