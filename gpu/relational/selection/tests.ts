import { asBytes } from '../../../protocol/columns.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import { isTrue } from '../expressions/operators.js'
import type { RowValue } from '../expressions/row-value.js'
import type { ValueSet } from '../expressions/value-sets.js'
import type { DeviceWork } from '../query/device-work.js'
import { dictionaryOf, matchTable } from '../query/dictionaries.js'
import type { QueryColumn } from '../query/query-column.js'
import { soughtBytes } from '../query/text-matches.js'
import type { StringDictionary } from '../string-dictionary.js'
import type { DictionaryTexts } from './dictionary-texts.js'
import type { Mark } from './mark.js'
import type { PredicateCode, Test } from './predicate.js'
import type { Condition } from './selection-types.js'

/**
 * How strings are matched: the string of each row that is looked at, or first all strings of the dictionary, after which rows look up the
 * answer for their string.
 */
export type MatchBy = 'row' | 'dictionary'

/** A column's value is in a set. */
export function valuesTest(column: QueryColumn, set: ValueSet): Test {
  return { build: (code) => code.isIn(column, set), isDear: false }
}

/** A bit for each entry. */
export function marksTest(bits: DeviceMemory): Test {
  return { build: (code) => code.marks(bits), isDear: false }
}

/** All tests of some branch. */
export function anyTest(branches: readonly (readonly Test[])[]): Test {
  const build = (code: PredicateCode) => {
    const answers = branches.map((branch) => {
      return `(${branch.map((test) => test.build(code).value).join(' & ') || '1u'})`
    })
    return code.computed('boolean', answers.join(' | ') || '0u')
  }
  return { build, isDear: branches.flat().some(({ isDear }) => isDear), branches }
}

/** An expression is true, or a fault that may be. */
export function expressionTest(expression: TypedExpression, isDear: boolean): Test {
  return { build: (code) => isTrue(code, code.value(expression)), isDear }
}

type MatchCondition = Extract<Condition, { kind: 'match' }>

/** What strings are matched with: their dictionaries on the device, and the kernel that goes through one. */
export interface Matching {
  readonly texts: DictionaryTexts
  readonly mark: Mark
}

/** A column's string matches a text. */
export async function matchTest(
  work: DeviceWork,
  { texts: dictionaries, mark }: Matching,
  condition: MatchCondition,
  column: QueryColumn,
  by: MatchBy,
): Promise<Test> {
  const { dictionary = dictionaryOf([]) } = column
  const texts = await dictionaries.use(work, dictionary)
  if (texts === undefined) return bitsTest(column, work.upload(hostTable(dictionary, condition)))
  const matches = (strings: Strings) => textTest(strings, condition, texts, dictionary.size)
  if (by === 'row') return matches((code) => code.column(column))
  // A selection over the numbers of the strings.
  const numbers = { columns: [], bound: dictionary.size, live: undefined, list: undefined }
  const test = matches((code) => code.computed('string', code.row))
  return bitsTest(column, await mark.bits(work, numbers, [[test]]))
}

/** Strings of a row. */
type Strings = (code: PredicateCode) => RowValue

/** Strings against a text, by their bytes (`match.wesl`). */
function textTest(
  strings: Strings,
  { match, text, negated }: MatchCondition,
  texts: DeviceMemory,
  size: number,
): Test {
  const bytes = soughtBytes(match, text)
  const words = new Uint32Array(Math.ceil(bytes.length / 4))
  asBytes(words).set(bytes)
  const build = (code: PredicateCode) => {
    const value = strings(code)
    const string = `${code.use('match', 'string_at')}(${code.texts(texts)}u, ${value.value}, ${code.word(size)})`
    const pattern = `${code.use('match', 'Text')}(${code.word(bytes.length)}, ${code.table(words)})`
    const matches = `${code.use('match', `matches_${match}`)}(${string}, ${pattern})`
    // Of a null there is no string.
    const known = value.valid === undefined ? '' : `${value.valid} && `
    return code.computed('boolean', `select(0u, 1u, ${known}${negated ? '!' : ''}${matches})`)
  }
  return { build, isDear: true }
}

/** A bit for each value of a column. */
function bitsTest(column: QueryColumn, bits: DeviceMemory): Test {
  return {
    build: (code) => isTrue(code, code.lookUp(code.column(column), code.bind(bits, 'u32'))),
    isDear: false,
  }
}

/** The table of a dictionary that no binding holds, from the host. */
function hostTable(dictionary: StringDictionary, { match, text, negated }: MatchCondition): Uint8Array {
  const table = matchTable(dictionary, match, text)
  return asBytes(negated ? table.map((word) => ~word) : table)
}
