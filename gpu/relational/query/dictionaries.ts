import type { MatchKind } from '../../../protocol/query/tree.js'
import { utf8Bytes } from '../../../protocol/utf8.js'
import type { StringBytes, StringDictionary } from '../device-relation.js'

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

/** Whether a text is found in a string. */
export function isFound(match: MatchKind, text: string, string: string): boolean {
  if (match === 'contains') return string.includes(text)
  return match === 'startsWith' ? string.startsWith(text) : string.endsWith(text)
}

/** Halves of surrogate pairs stand for code points past all others, but have smaller numbers than the last of those. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/** A dictionary of strings that are in order and differ. */
export function dictionaryOf(strings: readonly string[]): StringDictionary {
  let utf8: StringBytes | undefined
  return {
    size: strings.length,
    at: (code) => strings[code]!,
    bytesOf: (code) => utf8Bytes(strings[code]!),
    lowerBound: (text) => {
      let low = 0
      let high = strings.length
      while (low < high) {
        const middle = (low + high) >> 1
        if (compareStrings(strings[middle]!, text) < 0) low = middle + 1
        else high = middle
      }
      return low
    },
    utf8: () => {
      utf8 ??= encoded(strings)
      return utf8
    },
  }
}

function encoded(strings: readonly string[]): StringBytes {
  const offsets = new Uint32Array(strings.length + 1)
  const texts = strings.map((text) => new TextEncoder().encode(text))
  texts.forEach((text, code) => {
    offsets[code + 1] = offsets[code]! + text.length
  })
  const bytes = new Uint8Array(offsets[strings.length]!)
  texts.forEach((text, code) => {
    bytes.set(text, offsets[code])
  })
  return { bytes, offsets }
}

/** The numbers of the strings that begin with a text: from the first to before the last. */
export function prefixRange(
  dictionary: StringDictionary,
  text: string,
): readonly [first: number, end: number] {
  const first = dictionary.lowerBound(text)
  let low = first
  let high = dictionary.size
  // Whatever begins with the text follows it without a gap.
  while (low < high) {
    const middle = (low + high) >>> 1
    if (dictionary.at(middle).startsWith(text)) low = middle + 1
    else high = middle
  }
  return [first, low]
}

/** What a text's number in a dictionary is; undefined where it is not in it. */
export function codeOf(dictionary: StringDictionary, text: string): number | undefined {
  const code = dictionary.lowerBound(text)
  return code < dictionary.size && dictionary.at(code) === text ? code : undefined
}

/** The strings of two dictionaries as one, with the new number of each old one. */
export interface MergedDictionary {
  readonly dictionary: StringDictionary
  readonly left: Uint32Array
  readonly right: Uint32Array
}

/** Kept, because queries over the same columns come again. */
const merged = new WeakMap<StringDictionary, WeakMap<StringDictionary, MergedDictionary>>()

export function mergeDictionaries(left: StringDictionary, right: StringDictionary): MergedDictionary {
  const known = merged.get(left)?.get(right)
  if (known !== undefined) return known
  const made = merge(left, right)
  const ofLeft = merged.get(left) ?? new WeakMap()
  merged.set(left, ofLeft.set(right, made))
  return made
}

function merge(left: StringDictionary, right: StringDictionary): MergedDictionary {
  const strings: string[] = []
  const codes = { left: new Uint32Array(left.size), right: new Uint32Array(right.size) }
  let l = 0
  let r = 0
  while (l < left.size || r < right.size) {
    const order = l === left.size ? 1 : r === right.size ? -1 : compareStrings(left.at(l), right.at(r))
    const code = strings.push(order <= 0 ? left.at(l) : right.at(r)) - 1
    if (order <= 0) codes.left[l++] = code
    if (order >= 0) codes.right[r++] = code
  }
  return { dictionary: dictionaryOf(strings), ...codes }
}

/** A dictionary that has the strings of two. */
export function unitedDictionary(left: StringDictionary, right: StringDictionary): StringDictionary {
  if (left === right || right.size === 0) return left
  return left.size === 0 ? right : mergeDictionaries(left, right).dictionary
}

/** Kept as the merged ones are. */
const recodings = new WeakMap<StringDictionary, WeakMap<StringDictionary, Uint32Array>>()

/** For each string of a dictionary its number in another one, which has them all. */
export function codesIn(own: StringDictionary, other: StringDictionary): Uint32Array {
  const known = recodings.get(own) ?? new WeakMap<StringDictionary, Uint32Array>()
  recodings.set(own, known)
  let codes = known.get(other)
  if (codes === undefined) {
    codes = Uint32Array.from({ length: own.size }, (_, code) => other.lowerBound(own.at(code)))
    known.set(other, codes)
  }
  return codes
}

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
  for (let code = 0; code < dictionary.size; code++) {
    if (isFound(match, text, dictionary.at(code))) set(code)
  }
  return table
}
