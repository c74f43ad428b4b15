import { type KeyBlob, keyBlob, longKeys, scattered } from '../../keys.js'

/** A kind of keys that the evaluation is repeated with (Volk §6). */
export interface DataSet {
  readonly name: string
  /** Keys number 0 to before `count` of one fixed sequence of distinct keys. */
  keys(count: number): KeyBlob
}

/** Every key is random from its first character on, so that each has partitions of its own: the worst case, Figure 8 (a). */
const RANDOM: DataSet = { name: 'random', keys: longKeys }

const FIRST_CHARACTER = 0x20
const CHARACTERS = 95
const COUNTED = 3
const HEAD = 'warpdex '.repeat(16).slice(0, 128 - COUNTED)

/**
 * 128 characters that are counted up from the last one, so that the tree has the least partitions that it can have: Figure 8 (b).
 * The paper counts the least significant byte and carries over; here digits are the 95 printable characters, which keeps the
 * keys texts, and three of them count further than 100,000.
 */
const MINIMAL: DataSet = {
  name: 'minimal',
  keys: (count) =>
    keyBlob(count, (i) => {
      let tail = ''
      for (let rest = i, at = 0; at < COUNTED; at++, rest = Math.floor(rest / CHARACTERS)) {
        tail = String.fromCharCode(FIRST_CHARACTER + (rest % CHARACTERS)) + tail
      }
      return HEAD + tail
    }),
}

const ADDRESS = 'https://www.example.com/people/'
const SYLLABLES = [
  'an',
  'bel',
  'chi',
  'da',
  'el',
  'fre',
  'gor',
  'ha',
  'is',
  'jo',
  'ka',
  'lin',
  'mo',
  'na',
  'ra',
  'so',
]
const ID_DIGITS = 15
/** Characters of the longest name: with it a key has 147. */
const LONGEST_NAME = 147 - ADDRESS.length - 1 - ID_DIGITS

/**
 * Addresses of people's pages: a head that all share, a name, and a number by which no two are alike, 60 characters on average and
 * 147 at most, as the paper's collection from a directory has them: Figure 8 (c). One name in 25 is not Latin, and escaped.
 */
const ADDRESSES: DataSet = {
  name: 'addresses',
  keys: (count) =>
    keyBlob(count, (i) => {
      const id = String(1e14 + scattered(i) * 2048 + (i % 2048))
      return `${ADDRESS}${personName(i)}/${id}`
    }),
}

function personName(i: number): string {
  const random = scattered(scattered(i) ^ 0x2545f491)
  const latin = random % 25 !== 0
  const units = latin ? 3 + ((random >>> 8) % 3) : 8 + ((random >>> 8) % 11)
  let name = ''
  for (let unit = 0; unit < units; unit++) {
    const choice = scattered(random ^ unit)
    if (latin) name += (unit === 2 ? '-' : '') + SYLLABLES[choice & 15]
    else name += `%D0%${(0xb0 + (choice & 15)).toString(16).toUpperCase()}`
  }
  return name.slice(0, LONGEST_NAME)
}

/** By the figures that they belong to: 8 (a), (b) and (c). */
export const DATA_SETS = { a: RANDOM, b: MINIMAL, c: ADDRESSES } as const

/** Keys number `first` to before `end` of a column. */
export function sliceKeys({ offsets, bytes }: KeyBlob, first: number, end: number): KeyBlob {
  const start = offsets[first]!
  return {
    offsets: offsets.slice(first, end + 1).map((offset) => offset - start),
    bytes: bytes.subarray(start, offsets[end]),
  }
}

/** Average and greatest length of the keys of a column, in bytes. */
export function keyLengths({ offsets }: KeyBlob): { average: number; longest: number } {
  let longest = 0
  for (let i = 1; i < offsets.length; i++) longest = Math.max(longest, offsets[i]! - offsets[i - 1]!)
  return { average: offsets.at(-1)! / (offsets.length - 1), longest }
}
