import type { IndexDefinition, KeyType } from '../../protocol/types.js'
import type { KeyRange } from '../sdk/index.js'
import { text } from './command.js'
import { parseKeyEnd, parsePrefix } from './keys.js'

/** The options that say which keys a command is about. */
export const RANGE_OPTIONS = {
  from: text('Smallest key'),
  to: text('Largest key'),
  prefix: {
    ...text('Common prefix of the keys: a text, or leading parts of a tuple as a JSON array'),
    conflicts: ['from', 'to'],
  },
} as const

/** What was given of them, as text. */
type RangeTexts = { readonly [Name in keyof typeof RANGE_OPTIONS]?: string | undefined }

/**
 * The range that was given; all keys where none was.
 * @throws WarpdexError `BAD_REQUEST`
 */
export function parseRange(texts: RangeTexts, definition: IndexDefinition, hex: boolean): KeyRange<KeyType> {
  const end = (key: string | undefined) => (key === undefined ? undefined : parseKeyEnd(key, definition, hex))
  const prefix = texts.prefix === undefined ? undefined : parsePrefix(texts.prefix, definition, hex)
  return { from: end(texts.from), to: end(texts.to), prefix }
}
