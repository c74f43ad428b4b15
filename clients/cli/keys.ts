import { badRequest } from '../../protocol/errors.js'
import { type IndexDefinition, isFixedKeyType, isTupleKeyType, type KeyType } from '../../protocol/types.js'
import type { Key, KeyPrefix } from '../sdk/index.js'
import { asText, bytesAsJson, parseBytes, showBytes } from './bytes.js'
import { numberAsJson, parseNumber, showNumber } from './number-keys.js'
import { parseTuple, tupleAsJson } from './tuple-keys.js'

/** A key of any type. */
export type AnyKey = Key<KeyType>

/** How people write keys, for help texts. */
export const KEY_FORMS = 'A number; a text (UTF-8) for string and bytes; a JSON array for tuples'

/** What --hex does where keys and payloads are shown. */
export const SHOWN_AS_HEX = 'Read and print string and bytes keys, and bytes payloads, as hex digits'

/**
 * A key as people write it: a number, a text for strings and bytes, or a tuple as a JSON array.
 *
 * @param hex whether strings and bytes that are no part of a tuple are written as hex digits
 * @throws WarpdexError `BAD_REQUEST` that names what the index's keys are
 */
export function parseKey(text: string, definition: IndexDefinition, hex: boolean): AnyKey {
  return parse(text, definition, hex, false)
}

/**
 * The end of a range: a key, or the leading parts of a tuple.
 * @throws WarpdexError `BAD_REQUEST`
 */
export function parseKeyEnd(text: string, definition: IndexDefinition, hex: boolean): AnyKey {
  return parse(text, definition, hex, true)
}

/**
 * What keys begin with: a text, or the leading parts of a tuple.
 * @throws WarpdexError `BAD_REQUEST`, also where keys are numbers
 */
export function parsePrefix(text: string, definition: IndexDefinition, hex: boolean): KeyPrefix<KeyType> {
  const { name, keyType } = definition
  if (isFixedKeyType(keyType)) {
    throw badRequest(`index "${name}" has ${keyType} keys, which have no prefix; use --from and --to`)
  }
  // Keys of other types are what their prefixes are.
  return parse(text, definition, hex, true) as KeyPrefix<KeyType>
}

function parse(text: string, { keyType, name }: IndexDefinition, hex: boolean, leading: boolean): AnyKey {
  const what = `a key of index ${JSON.stringify(name)}`
  if (isFixedKeyType(keyType)) return parseNumber(text, keyType, what)
  if (isTupleKeyType(keyType)) return parseTuple(text, keyType, what, leading)
  const bytes = parseBytes(text, hex, what)
  if (keyType === 'bytes') return bytes
  const string = asText(bytes)
  if (string !== undefined) return string
  throw badRequest(`${text} is not UTF-8, which ${what} must be`)
}

/** A key for one line of text, which is read as the same key; strings and bytes that do not fit in a line as hex digits after 0x. */
export function showKey(key: AnyKey, keyType: KeyType, hex: boolean): string {
  if (typeof key === 'string') return showBytes(Buffer.from(key), hex)
  if (key instanceof Uint8Array) return showBytes(key, hex)
  if (typeof key === 'object') return JSON.stringify(keyAsJson(key, keyType, hex))
  return isFixedKeyType(keyType) ? showNumber(key, keyType) : String(key)
}

/** A key as JSON: a number, or a text where JSON's numbers cannot hold it; a text, or `{"hex": "…"}`; an array of these. */
export function keyAsJson(key: AnyKey, keyType: KeyType, hex: boolean): unknown {
  if (typeof key === 'string') return key
  if (key instanceof Uint8Array) return bytesAsJson(key, hex)
  if (typeof key === 'object') return isTupleKeyType(keyType) ? tupleAsJson(key, keyType, hex) : key
  return isFixedKeyType(keyType) ? numberAsJson(key, keyType) : String(key)
}
