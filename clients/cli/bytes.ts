import { badRequest } from '../../protocol/errors.js'
import { quotedText } from '../../protocol/shown.js'

/** Tabs and line ends would break a line's form, other control characters the terminal. */
const CONTROL = /\p{Cc}/u
const HEX = /^(0x)?((?:[\da-f]{2})*)$/i

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Bytes as people write them: a text, or hex digits with or without 0x before them.
 * @throws WarpdexError `BAD_REQUEST`
 */
export function parseBytes(text: string, hex: boolean, what: string): Uint8Array {
  if (!hex) return Buffer.from(text)
  const digits = HEX.exec(text)?.[2]
  if (digits !== undefined) return Buffer.from(digits, 'hex')
  throw badRequest(`${quotedText(text)} is not hex; with --hex ${what} is pairs of hex digits`)
}

/** Bytes for one line of text: their text if that fits in a line, else hex digits after 0x. */
export function showBytes(bytes: Uint8Array, hex: boolean): string {
  const text = hex ? undefined : asText(bytes)
  return text === undefined || CONTROL.test(text) ? `0x${Buffer.from(bytes).toString('hex')}` : text
}

/** Bytes as JSON: their text if they are UTF-8, else `{"hex": "…"}`. */
export function bytesAsJson(bytes: Uint8Array, hex: boolean): string | { readonly hex: string } {
  return (hex ? undefined : asText(bytes)) ?? { hex: Buffer.from(bytes).toString('hex') }
}

/** The text that bytes are, or undefined if they are no UTF-8. */
export function asText(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
