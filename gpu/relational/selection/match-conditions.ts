import { asBytes } from '../../../protocol/columns.js'
import type { StringDictionary } from '../device-relation.js'
import type { DeviceWork } from '../query/device-work.js'
import { dictionaryOf, matchTable, prefixRange } from '../query/dictionaries.js'
import type { QueryColumn } from '../query/query-column.js'
import type { DictionaryTexts } from './dictionary-texts.js'
import type { Mark } from './mark.js'
import { PredicateBuilder } from './predicate.js'
import type { Condition } from './selection-types.js'
import type { Testable, TextTest } from './testable.js'

/**
 * How strings are matched: the string of each row that is looked at, or first all strings of the dictionary, after which rows look up the
 * answer for their string.
 */
export type MatchBy = 'row' | 'dictionary'

type MatchCondition = Extract<Condition, { kind: 'match' }>

/** Brings `match` conditions into a form that kernels evaluate. */
export class MatchConditions {
  readonly #texts: DictionaryTexts
  readonly #mark: Mark

  constructor(texts: DictionaryTexts, mark: Mark) {
    this.#texts = texts
    this.#mark = mark
  }

  async testable(
    work: DeviceWork,
    { column, match, text, negated }: MatchCondition,
    { dictionary = dictionaryOf([]) }: QueryColumn,
    by: MatchBy,
  ): Promise<Testable> {
    // In the order of strings those that begin with a text are neighbours, which the dictionary itself knows.
    if (match === 'startsWith' && by === 'dictionary') return prefixValues(dictionary, column, text, negated)
    const texts = await this.#texts.use(work, dictionary)
    const strings = dictionary.size
    if (texts === undefined) {
      return { kind: 'lookUp', column, bits: work.upload(hostTable(dictionary, { match, text, negated })) }
    }
    const test: TextTest = { kind: 'text', column, match, text, negated, texts, strings }
    if (by === 'row') return test
    return { kind: 'lookUp', column, bits: await this.#table(work, { ...test, column: undefined }) }
  }

  /** A bit for each string of a dictionary: a selection over its numbers. */
  async #table(work: DeviceWork, test: TextTest): Promise<GPUBuffer> {
    const builder = new PredicateBuilder([])
    builder.addGroup([test])
    const numbers = { bound: test.strings, live: undefined, list: undefined }
    return this.#mark.bits(work, numbers, [builder.finish(false)])
  }
}

function prefixValues(
  dictionary: StringDictionary,
  column: number,
  text: string,
  negated: boolean,
): Testable {
  const [first, end] = prefixRange(dictionary, text)
  const inside = [{ low: first, high: end - 1 }]
  const outside = [
    { low: 0, high: first - 1 },
    { low: end, high: dictionary.size - 1 },
  ]
  const intervals = (
    first === end
      ? [negated ? { low: 0, high: dictionary.size - 1 } : inside[0]!]
      : negated
        ? outside
        : inside
  )
    .filter(({ low, high }) => low <= high)
    .map(({ low, high }) => ({ low: BigInt(low), high: BigInt(high) }))
  return { kind: 'values', column, set: { intervals, nulls: false } }
}

/** The same table from the host, for dictionaries that no binding holds. */
function hostTable(
  dictionary: StringDictionary,
  { match, text, negated }: Pick<TextTest, 'match' | 'text' | 'negated'>,
): Uint8Array {
  const table = matchTable(dictionary, match, text)
  return asBytes(negated ? table.map((word) => ~word) : table)
}
