import { type ColumnType, columnWords } from '../../../protocol/column-types.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { getOrInsert } from '../../../protocol/get-or-insert.js'
import { LIMITS } from '../../../protocol/limits.js'
import { TEXT_FUNCTIONS } from '../../../protocol/query/tree.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import { compareStrings, dictionaryOf, keptOfTwo } from '../query/dictionaries.js'
import type { StringDictionary } from '../string-dictionary.js'
import { constantBits } from './ordered-numbers.js'
import { type TextFunctionOf, textFunctionOf } from './text-functions.js'

/** A function of one string or two, such as a cast. */
export type TextExpression = Extract<TypedExpression, { kind: 'call' | 'convert' }>

/** An expression as a function of strings, if it is one. */
export function ofTextsIn(expression: TypedExpression): TextExpression | undefined {
  const { kind } = expression
  if (kind === 'convert') return expression.args[0].type === 'string' ? expression : undefined
  if (kind !== 'call') return undefined
  return TEXT_FUNCTIONS.some((name) => name === expression.function) ? expression : undefined
}

/** The strings of which it is a function. */
export function stringsOf({ args }: TextExpression): readonly TypedExpression[] {
  return args.filter(({ type }) => type === 'string')
}

/** What a function makes of strings, by the numbers of these: of two strings the first one's is multiplied by how many the second may be. */
export interface TextTable {
  /** Of a result that is a string. */
  readonly dictionary: StringDictionary | undefined
  /** How many each of the strings may be, and one more where a null counts as one. */
  readonly choices: readonly number[]
  readonly takesNull: boolean
  /** The words of each result, of strings their numbers. */
  readonly words: Uint32Array
  /** A bit for each, whether it is a fault; undefined where none is. */
  readonly faults: Uint32Array | undefined
}

/** Strings, or pairs of them, that a function is computed for at most: the host does it, and nothing else meanwhile. */
const MOST_TEXTS = 2 ** 21

/** Tables that are kept of a dictionary, or two: queries over the same columns come again. */
const TABLES_KEPT = 16

/**
 * The table of a function, once.
 * @param dictionaries of its strings
 * @throws WarpdexError `TOO_LARGE` for more than `MOST_TEXTS` strings, or `columnStringBytes` of results
 */
export function textTable(
  expression: TextExpression,
  [first = ONE_STRING, second = ONE_STRING]: readonly StringDictionary[],
): TextTable {
  const tables = tablesOf(first, second)
  const form = formOf(expression)
  const known = tables.get(form) ?? tableOf(expression, first, second)
  // The one that was used last comes last.
  tables.delete(form)
  tables.set(form, known)
  if (tables.size > TABLES_KEPT) tables.delete(tables.keys().next().value!)
  return known
}

const ONE_STRING = dictionaryOf([''])

const tablesOf = keptOfTwo(() => new Map<string, TextTable>())

/** What a function is besides its strings. */
function formOf(expression: TextExpression): string {
  const name = expression.kind === 'call' ? expression.function : expression.kind
  const constants = expression.args.filter(({ type }) => type !== 'string')
  return JSON.stringify([
    name,
    expression.type,
    ...constants.map((part) => String('value' in part && part.value)),
  ])
}

function tableOf(expression: TextExpression, first: StringDictionary, second: StringDictionary): TextTable {
  const make = textFunctionOf(expression)
  const { takesNull = false } = make
  const choices = [first, second].map(({ size }) => (takesNull ? size + 1 : size))
  const count = choices.reduce((product, size) => product * size)
  if (count > MOST_TEXTS) {
    const name = expression.kind === 'call' ? `"${expression.function}"` : `a cast to ${expression.type}`
    throw new WarpdexError(
      'TOO_LARGE',
      `${name} of a column with ${count} different strings, or two with as many pairs; ${MOST_TEXTS} are allowed`,
    )
  }
  const results =
    expression.type === 'string' ? stringResults(make, first, second) : numbers(make, expression.type, first)
  return { ...results, choices, takesNull }
}

type Results = Pick<TextTable, 'dictionary' | 'words' | 'faults'>

function numbers(make: TextFunctionOf, type: ColumnType, strings: StringDictionary): Results {
  const width = columnWords(type)
  const words = new Uint32Array(width * strings.size)
  const faults = new Uint32Array(Math.ceil(strings.size / 32))
  let [place, hasFaults] = [0, false]
  for (const string of strings.texts()) {
    const value = make.of(string, '')
    if (value === undefined) {
      hasFaults = true
      faults[place >> 5]! |= 1 << (place & 31)
    } else {
      const bits = constantBits(value as bigint, type)
      words[width * place] = Number(bits & 0xffffffffn)
      if (width === 2) words[2 * place + 1] = Number(bits >> 32n)
    }
    place++
  }
  return { dictionary: undefined, words, faults: hasFaults ? faults : undefined }
}

function stringResults(make: TextFunctionOf, first: StringDictionary, second: StringDictionary): Results {
  const nothing = make.takesNull ? [''] : []
  const others = [...second.texts(), ...nothing]
  const numbers = new Map<string, number>()
  const found: number[] = []
  let bytes = 0
  const add = (one: string) => {
    for (const other of others) {
      const result = make.of(one, other) as string
      const number = getOrInsert(numbers, result, () => {
        bytes += result.length
        return numbers.size
      })
      found.push(number)
    }
    if (bytes > LIMITS.columnStringBytes) {
      throw new WarpdexError(
        'TOO_LARGE',
        `strings that are computed have ${LIMITS.columnStringBytes} bytes at most`,
      )
    }
  }
  for (const one of first.texts()) add(one)
  nothing.forEach(add)
  const strings = [...numbers.keys()].sort(compareStrings)
  const ranks = new Uint32Array(strings.length)
  strings.forEach((string, rank) => {
    ranks[numbers.get(string)!] = rank
  })
  const words = Uint32Array.from(found, (number) => ranks[number]!)
  return { dictionary: dictionaryOf(strings), words, faults: undefined }
}
