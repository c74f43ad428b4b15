import { badRequest } from '../../protocol/errors.js'
import { quotedText } from '../../protocol/shown.js'
import { type IndexDefinition, payloadBytes } from '../../protocol/types.js'
import { bytesAsJson, parseBytes, showBytes } from './bytes.js'
import { parseWhole } from './number-keys.js'

/**
 * A payload as people write it: a whole number for u32 and u64; for `bytes` and `fixed(n)` a text, stored as UTF-8, or hex digits.
 *
 * @param hex whether bytes are written as hex digits, with or without 0x before them
 * @throws WarpdexError `BAD_REQUEST` that names what the index's payloads are
 */
export function parsePayload(
  text: string,
  { name, payloadKind }: IndexDefinition,
  hex: boolean,
): number | bigint | Uint8Array {
  const what = `a payload of index ${JSON.stringify(name)}`
  if (payloadKind === 'u32' || payloadKind === 'u64') return parseWhole(text, payloadKind, what)
  const bytes = parseBytes(text, hex, what)
  const width = payloadBytes(payloadKind)
  if (width === undefined || bytes.length === width) return bytes
  throw badRequest(
    `${quotedText(text)} is ${bytes.length} bytes; ${what} is ${width} bytes: a text of that many bytes, or ${2 * width} hex digits with --hex`,
  )
}

/** A payload for one line of text: bytes as their text if that fits in a line, else as hex digits after 0x. */
export function showPayload(payload: number | bigint | Uint8Array, hex: boolean): string {
  return payload instanceof Uint8Array ? showBytes(payload, hex) : String(payload)
}

/** A payload as JSON: u32 a number, u64 a text; bytes their text if they are UTF-8, else `{"hex": "…"}`. */
export function payloadAsJson(
  payload: number | bigint | Uint8Array,
  hex: boolean,
): number | string | { readonly hex: string } {
  if (typeof payload === 'number') return payload
  return typeof payload === 'bigint' ? String(payload) : bytesAsJson(payload, hex)
}
