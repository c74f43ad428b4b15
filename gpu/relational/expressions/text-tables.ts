import { type ColumnType, columnWords } from '../../../protocol/column-types.js'
import { WarpdexError } from '../../../protocol/errors.js'
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
  const { of, takesNull = false } = textFunctionOf(expression)
  const choices = [first, second].map(({ size }) => (takesNull ? size + 1 : size))
  const count = choices.reduce((product, size) => product * size)
  requireFew(count, expression.kind === 'call' ? `"${expression.function}"` : `a cast to ${expression.type}`)
  const [ones, others] = [first, second].map((strings) => [...strings.texts(), ...(takesNull ? [''] : [])])
  const results = ones!.flatMap((one) => others!.map((other) => of(one, other)))
  const { type } = expression
  const encoded = type === 'string' ? numbered(results as string[]) : inWords(results, type)
  return { ...encoded, choices, takesNull, faults: faultsOf(results) }
}

/** @throws WarpdexError `TOO_LARGE` for more different values than the host makes something of */
export function requireFew(count: number, what: string): void {
  if (count <= MOST_TEXTS) return
  const message = `${what} of a column with ${count} different values, or two with as many pairs; ${MOST_TEXTS} are allowed`
  throw new WarpdexError('TOO_LARGE', message)
}

type Result = ReturnType<TextFunctionOf['of']>

/** A bit for each that is a fault, if there are any. */
function faultsOf(results: readonly Result[]): Uint32Array | undefined {
  if (!results.includes(undefined)) return undefined
  const faults = new Uint32Array(Math.ceil(results.length / 32))
  results.forEach((result, i) => {
    if (result === undefined) faults[i >> 5]! |= 1 << (i & 31)
  })
  return faults
}

const WORD = 0xffffffffn

function inWords(results: readonly Result[], type: ColumnType) {
  const each = columnWords(type)
  const words = new Uint32Array(results.length * each)
  results.forEach((result, i) => {
    const bits = constantBits((result ?? null) as bigint | null, type)
    for (let word = 0; word < each; word++)
      words[i * each + word] = Number((bits >> BigInt(32 * word)) & WORD)
  })
  return { dictionary: undefined, words }
}

/** Strings as a dictionary of them, and their numbers there. */
export function numbered(results: readonly string[]) {
  const different = new Set(results)
  const bytes = Array.from(different).reduce((sum, { length }) => sum + length, 0)
  if (bytes > LIMITS.columnStringBytes) {
    const most = LIMITS.columnStringBytes
    throw new WarpdexError('TOO_LARGE', `different strings that are computed may have ${most} bytes`)
  }
  const strings = [...different].sort(compareStrings)
  const numbers = new Map(strings.map((string, number) => [string, number]))
  return {
    dictionary: dictionaryOf(strings),
    words: Uint32Array.from(results, (string) => numbers.get(string)!),
  }
}
