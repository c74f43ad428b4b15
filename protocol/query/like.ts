import type { ComparisonOp, MatchKind } from './tree.js'

/** What stand in a pattern for any characters, and for any one. */
export const ANY = '%'
const ONE = '_'

/** What escapes wildcards in the text of a `match` of kind `like`. */
const ESCAPE = '\\'

/** A character that is looked for, or a wildcard. */
export interface PatternCharacter {
  readonly character: string
  readonly isWildcard: boolean
}

/** What a pattern asks of strings: to match it, or, of simpler ones, to be a text or to have it in some place. */
export type PatternTest =
  | { readonly op: Extract<ComparisonOp, '='>; readonly text: string }
  | { readonly op: MatchKind; readonly text: string }

/**
 * The simplest test that strings which match a pattern pass. Of `like` the text is a pattern too, whose escape is a backslash.
 * @param escaping a character that has the one behind it mean itself; none by default, as in DuckDB
 * @returns undefined where nothing is behind an escape
 */
export function patternTest(pattern: string, escaping = ''): PatternTest | undefined {
  const characters = patternCharacters(pattern, escaping)
  if (characters === undefined) return undefined
  const isAny = characters.map(({ character, isWildcard }) => isWildcard && character === ANY)
  const first = isAny.indexOf(false)
  const end = isAny.lastIndexOf(false) + 1
  if (characters.length > 0 && first < 0) return { op: 'contains', text: '' }
  const inner = characters.slice(Math.max(first, 0), end)
  if (inner.some(({ isWildcard }) => isWildcard)) return { op: 'like', text: inPatterns(characters) }
  const text = inner.map(({ character }) => character).join('')
  const [begins, ends] = [first <= 0, end === characters.length]
  if (begins && ends) return { op: '=', text }
  return { op: begins ? 'startsWith' : ends ? 'endsWith' : 'contains', text }
}

/** The characters of a pattern, of several `%` in a row one; undefined where nothing is behind an escape. */
export function patternCharacters(pattern: string, escaping = ESCAPE): PatternCharacter[] | undefined {
  const characters: PatternCharacter[] = []
  let isEscaped = false
  for (const character of pattern) {
    if (!isEscaped && character === escaping) {
      isEscaped = true
      continue
    }
    const isWildcard = !isEscaped && (character === ANY || character === ONE)
    isEscaped = false
    const before = characters.at(-1)
    const repeats = isWildcard && character === ANY && before?.isWildcard && before.character === ANY
    if (!repeats) characters.push({ character, isWildcard })
  }
  return isEscaped ? undefined : characters
}

function inPatterns(characters: readonly PatternCharacter[]): string {
  const needsEscape = ({ character, isWildcard }: PatternCharacter) =>
    !isWildcard && [ANY, ONE, ESCAPE].includes(character)
  return characters.map((character) => (needsEscape(character) ? ESCAPE : '') + character.character).join('')
}
