import type { MatchKind } from './tree.js'

/** Stands in a pattern for any characters. */
export const ANY = '%'
const ONE = '_'

/** What a pattern asks of strings: to match it, or, of simpler ones, to be a text or to have it in some place. */
export interface PatternTest {
  readonly op: MatchKind | '='
  readonly text: string
}

/**
 * The simplest test that strings which match a pattern pass. Of `like` the text is a pattern too, whose escape is a backslash.
 * @param escaping a character that has the one behind it mean itself; none by default, as in DuckDB
 * @returns undefined where nothing is behind an escape
 */
export function patternTest(pattern: string, escaping = ''): PatternTest | undefined {
  const parts: string[] = []
  let isEscaped = false
  for (const character of pattern) {
    if (!isEscaped && character === escaping) {
      isEscaped = true
      continue
    }
    const isSpecial = [ANY, ONE, '\\'].includes(character)
    const part = isSpecial && (isEscaped || character === '\\') ? `\\${character}` : character
    if (part !== ANY || parts.at(-1) !== ANY) parts.push(part)
    isEscaped = false
  }
  return isEscaped ? undefined : simplest(parts)
}

function simplest(parts: readonly string[]): PatternTest {
  const begins = parts[0] !== ANY
  const ends = parts.at(-1) !== ANY
  const inner = parts.slice(begins ? 0 : 1, ends ? undefined : -1)
  const text = inner.map(characterOf)
  if (text.includes(undefined)) return { op: 'like', text: parts.join('') }
  const op = begins && ends ? '=' : begins ? 'startsWith' : ends ? 'endsWith' : 'contains'
  return { op, text: text.join('') }
}

/** The characters and wildcards of a pattern whose escape is a backslash. */
export function partsOfPattern(pattern: string): readonly string[] {
  return pattern.match(/\\.|./gsu) ?? []
}

/** The character that a part of a pattern is; undefined for wildcards. */
export function characterOf(part: string): string | undefined {
  return part === ANY || part === ONE ? undefined : part.replace(/^\\(.)/su, '$1')
}
