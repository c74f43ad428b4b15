/** Characters of a value that are shown. */
const MOST = 400

/** A key, a payload or a value of a row as a text on one line. */
export function valueText(value: unknown): string {
  const text = plainText(value)
  return text.length > MOST ? `${text.slice(0, MOST)}…` : text
}

function plainText(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (value instanceof Uint8Array) return bytesText(value)
  if (Array.isArray(value)) return `[${value.map(plainText).join(', ')}]`
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** What is text as such, other bytes as hex digits. */
function bytesText(bytes: Uint8Array): string {
  const some = bytes.subarray(0, MOST)
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (!/\p{Cc}/u.test(text)) return text
  } catch {
    // It is no UTF-8.
  }
  return `0x${Array.from(some, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
