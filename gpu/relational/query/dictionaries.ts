import { columnOf } from '../../../protocol/columns.js'
import { getOrInsert } from '../../../protocol/get-or-insert.js'
import { partitionPoint } from '../../../protocol/partition-point.js'
import type { MatchKind } from '../../../protocol/query/tree.js'
import { StringDictionary } from '../string-dictionary.js'
import { finderOf } from './text-matches.js'

/** Order of strings by their UTF-8 bytes, which is that of their code points. */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return rank(x) - rank(y)
  }
  return a.length - b.length
}

/** Halves of surrogate pairs stand for code points past all others, but have smaller numbers than the last of those. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

const encoder = new TextEncoder()

/** A dictionary of strings that are in order and differ. */
export function dictionaryOf(strings: readonly string[]): StringDictionary {
  const { bytes, offsets } = columnOf(strings.map((text) => encoder.encode(text)))
  return new StringDictionary(bytes, offsets)
}

/** The numbers of the strings that begin with a text: from the first to before the last. */
export function prefixRange(
  dictionary: StringDictionary,
  text: string,
): readonly [first: number, end: number] {
  const first = dictionary.lowerBound(text)
  // Whatever begins with the text follows it without a gap.
  return [first, partitionPoint(first, dictionary.size, (code) => dictionary.at(code).startsWith(text))]
}

/** What a text's number in a dictionary is; undefined where it is not in it. */
export function codeOf(dictionary: StringDictionary, text: string): number | undefined {
  const code = dictionary.lowerBound(text)
  return code < dictionary.size && dictionary.at(code) === text ? code : undefined
}

/** What is made of two dictionaries, once: queries over the same columns come again. */
export function keptOfTwo<T>(make: (one: StringDictionary, other: StringDictionary) => T): typeof make {
  const kept = new WeakMap<StringDictionary, WeakMap<StringDictionary, T>>()
  return (one, other) => {
    const ofOne = getOrInsert(kept, one, () => new WeakMap())
    return getOrInsert(ofOne, other, () => make(one, other))
  }
}

const merged = keptOfTwo((left, right) => left.merge(right).strings)

/** A dictionary that has the strings of two. */
export function unitedDictionary(left: StringDictionary, right: StringDictionary): StringDictionary {
  if (left === right || right.size === 0) return left
  return left.size === 0 ? right : merged(left, right)
}

/** For each string of a dictionary its number in another one, which has them all. */
export const codesIn = keptOfTwo((own, other) => other.merge(own).added)

/** A bit for each string of a dictionary, 32 a word: whether it is one in which the text is found. */
export function matchTable(dictionary: StringDictionary, match: MatchKind, text: string): Uint32Array {
  const table = new Uint32Array(Math.ceil(dictionary.size / 32))
  const set = (code: number) => {
    table[code >> 5]! |= 1 << (code & 31)
  }
  if (match === 'startsWith') {
    const [first, end] = prefixRange(dictionary, text)
    for (let code = first; code < end; code++) set(code)
    return table
  }
  const isFound = finderOf(match, text)
  let code = 0
  for (const string of dictionary.texts()) {
    if (isFound(string)) set(code)
    code++
  }
  return table
}
