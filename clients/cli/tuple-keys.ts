import { badRequest } from '../../protocol/errors.js'
import { quotedText } from '../../protocol/shown.js'
import type { ScalarKey } from '../../protocol/tuple-key.js'
import { type ScalarKeyType, type TupleKeyType, tupleParts } from '../../protocol/types.js'
import { bytesAsJson, parseBytes } from './bytes.js'
import { numberAsJson, parseNumber } from './number-keys.js'

/**
 * A tuple as a JSON array, or its leading parts. Integers of 64 bits may be texts, since JSON's numbers cannot hold all of them;
 * bytes are texts or `{"hex": "…"}`.
 *
 * @throws WarpdexError `BAD_REQUEST`
 */
export function parseTuple(text: string, keyType: TupleKeyType, what: string, leading: boolean): ScalarKey[] {
  const types = tupleParts(keyType)
  const values = arrayOf(text)
  const fits =
    values !== undefined && (leading ? values.length <= types.length : values.length === types.length)
  if (values === undefined || !fits) {
    const parts = `a JSON array of ${leading ? 'up to ' : ''}${types.length} parts, ${types.join(', ')}`
    throw badRequest(`${quotedText(text)} is not a key; ${what} is ${parts}`)
  }
  return values.map((value, i) => parsePart(value, types[i], `part ${i} of ${what}`))
}

/** A tuple as JSON values, which `parseTuple` reads as the same tuple. */
export function tupleAsJson(tuple: readonly ScalarKey[], keyType: TupleKeyType, hex: boolean): unknown[] {
  const types = tupleParts(keyType)
  return tuple.map((value, i) => {
    if (typeof value === 'string') return value
    return value instanceof Uint8Array ? bytesAsJson(value, hex) : numberAsJson(value, types[i])
  })
}

function arrayOf(text: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

function parsePart(value: unknown, type: ScalarKeyType, what: string): ScalarKey {
  if (type === 'string' || type === 'bytes') {
    if (typeof value === 'string') return type === 'string' ? value : parseBytes(value, false, what)
    const hex: unknown = Object(value).hex
    if (type === 'bytes' && typeof hex === 'string') return parseBytes(hex, true, what)
    const right = type === 'string' ? 'a text' : 'a text or {"hex": "…"}'
    throw badRequest(`${quotedText(JSON.stringify(value))} is not of type ${type}; ${what} is ${right}`)
  }
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw badRequest(`${quotedText(JSON.stringify(value))} is not a number; ${what} is one (${type})`)
  }
  if (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    !Number.isSafeInteger(value) &&
    type.endsWith('64') &&
    type !== 'f64'
  ) {
    const message = `${value} may have lost digits; write large numbers in quotes: ${what} is one (${type})`
    throw badRequest(message)
  }
  return parseNumber(typeof value === 'number' ? numberText(value) : value, type, what)
}

/** Without an exponent where it is a whole number, as those are read. */
function numberText(value: number): string {
  return Number.isSafeInteger(value) ? BigInt(value).toString() : String(value)
}
