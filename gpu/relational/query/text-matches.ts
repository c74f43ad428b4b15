import { ANY, characterOf, partsOfPattern } from '../../../protocol/query/like.js'
import type { MatchKind } from '../../../protocol/query/tree.js'

/** What tells whether a text, or of `like` a pattern, is found in strings. */
export function finderOf(match: MatchKind, text: string): (string: string) => boolean {
  switch (match) {
    case 'contains':
      return (string) => string.includes(text)
    case 'startsWith':
      return (string) => string.startsWith(text)
    case 'endsWith':
      return (string) => string.endsWith(text)
    case 'like':
      return patternFinder(text)
  }
}

/** Stand for wildcards among code points, of which there are no such. */
const [ANY_TEXT, ONE_CHARACTER] = [-1, -2]

/** Behind a `%` the rest of the pattern is looked for from each character on, which no later `%` makes necessary again. */
function patternFinder(text: string): (string: string) => boolean {
  const pattern = partsOfPattern(text).map((part) => {
    return characterOf(part)?.codePointAt(0) ?? (part === ANY ? ANY_TEXT : ONE_CHARACTER)
  })
  return (string) => {
    let [at, place] = [0, 0]
    let [nextAt, nextPlace] = [0, 0]
    for (;;) {
      const wanted = pattern[place]
      if (wanted === ANY_TEXT) {
        nextPlace = ++place
        nextAt = at
      } else if (at === string.length) {
        return wanted === undefined
      } else if (wanted === ONE_CHARACTER || wanted === string.codePointAt(at)) {
        at += widthAt(string, at)
        place++
      } else if (nextPlace === 0) {
        return false
      } else {
        nextAt += widthAt(string, nextAt)
        at = nextAt
        place = nextPlace
      }
    }
  }
}

function widthAt(string: string, at: number): number {
  return string.codePointAt(at)! > 0xffff ? 2 : 1
}

const encoder = new TextEncoder()

/** Bytes of wildcards in patterns, which no string has; `match.wesl` has them too. */
const [ANY_BYTE, ONE_BYTE] = [0xff, 0xfe]

/** What kernels look for: the bytes of a text or of a pattern. */
export function soughtBytes(match: MatchKind, text: string): Uint8Array {
  if (match !== 'like') return encoder.encode(text)
  return Uint8Array.from(
    partsOfPattern(text).flatMap((part) => {
      const character = characterOf(part)
      return character === undefined ? (part === ANY ? ANY_BYTE : ONE_BYTE) : [...encoder.encode(character)]
    }),
  )
}
