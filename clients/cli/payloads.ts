import { WarpdexError } from '../../protocol/errors.js'
import { type IndexDefinition, payloadBytes } from '../../protocol/types.js'
import { parseWhole, shown } from './keys.js'

/** Tabs and line ends would break a line's form, other control characters the terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
const HEX = /^(0x)?((?:[\da-f]{2})*)$/i

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

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
  const bytes = hex ? parseHex(text, what) : Buffer.from(text)
  const width = payloadBytes(payloadKind)
  if (width === undefined || bytes.length === width) return bytes
  throw new WarpdexError(
    'BAD_REQUEST',
    `${shown(text)} is ${bytes.length} bytes; ${what} is ${width} bytes: a text of that many bytes, or ${2 * width} hex digits with --hex`,
  )
}

function parseHex(text: string, what: string): Uint8Array {
  const digits = HEX.exec(text)?.[2]
  if (digits !== undefined) return Buffer.from(digits, 'hex')
  throw new WarpdexError(
    'BAD_REQUEST',
    `${shown(text)} is not hex; with --hex ${what} is pairs of hex digits`,
  )
}

/** A payload for one line of text: bytes as their text if that fits in a line, else as hex digits after 0x. */
export function showPayload(payload: number | bigint | Uint8Array, hex: boolean): string {
  if (!(payload instanceof Uint8Array)) return String(payload)
  const text = hex ? undefined : asText(payload)
  return text === undefined || CONTROL.test(text) ? toHex(payload) : text
}

/** A payload as JSON: u32 a number, u64 a text; bytes their text if they are UTF-8, else `{"hex": "…"}`. */
export function payloadAsJson(
  payload: number | bigint | Uint8Array,
  hex: boolean,
): number | string | { readonly hex: string } {
  if (typeof payload === 'number') return payload
  if (typeof payload === 'bigint') return String(payload)
  return (hex ? undefined : asText(payload)) ?? { hex: Buffer.from(payload).toString('hex') }
}

function toHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

function asText(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
