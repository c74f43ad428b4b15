import { badRequest } from '../../protocol/errors.js'
import { quotedText } from '../../protocol/shown.js'
import { type IndexDefinition, payloadBytes } from '../../protocol/types.js'
import type { JsonValue } from '../sdk/index.js'
import { asText, bytesAsJson, parseBytes, showBytes } from './bytes.js'
import { parseWhole } from './number-keys.js'

/** A payload of any kind. */
export type AnyPayload = bigint | Uint8Array | JsonValue

/**
 * A payload as people write it: a whole number for u32 and u64; for `bytes` and `fixed(n)` a text, stored as UTF-8, or hex digits; a text; JSON.
 *
 * @param hex whether bytes are written as hex digits, with or without 0x before them
 * @throws WarpdexError `BAD_REQUEST` that names what the index's payloads are
 */
export function parsePayload(text: string, { name, payloadKind }: IndexDefinition, hex: boolean): AnyPayload {
  const what = `a payload of index ${JSON.stringify(name)}`
  if (payloadKind === 'u32' || payloadKind === 'u64') return parseWhole(text, payloadKind, what)
  if (payloadKind === 'text') return hex ? textIn(parseBytes(text, hex, what), what) : text
  if (payloadKind === 'json') return parseJson(text, what)
  const bytes = parseBytes(text, hex, what)
  const width = payloadBytes(payloadKind)
  if (width === undefined || bytes.length === width) return bytes
  throw badRequest(
    `${quotedText(text)} is ${bytes.length} bytes; ${what} is ${width} bytes: a text of that many bytes, or ${2 * width} hex digits with --hex`,
  )
}

function textIn(bytes: Uint8Array, what: string): string {
  const text = asText(bytes)
  if (text === undefined) throw badRequest(`the hex digits are not UTF-8, which ${what} must be`)
  return text
}

function parseJson(text: string, what: string): JsonValue {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw badRequest(`${quotedText(text)} is not JSON, which ${what} must be`, { cause })
  }
}

/** A payload for one line of text: JSON as such; bytes and texts as they are if that fits in a line, else bytes as hex digits after 0x. */
export function showPayload(payload: AnyPayload, { payloadKind }: IndexDefinition, hex: boolean): string {
  if (payloadKind === 'json') return JSON.stringify(payload)
  if (typeof payload === 'string') return showBytes(Buffer.from(payload), hex)
  return payload instanceof Uint8Array ? showBytes(payload, hex) : String(payload)
}

/** A payload as JSON: u32 a number, u64 a text; bytes their text if they are UTF-8, else `{"hex": "…"}`. */
export function payloadAsJson(payload: AnyPayload, hex: boolean): JsonValue {
  if (typeof payload === 'bigint') return String(payload)
  return payload instanceof Uint8Array ? bytesAsJson(payload, hex) : payload
}
