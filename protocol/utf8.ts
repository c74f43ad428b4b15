/** Node's check is many times as fast as decoding, which browsers are left with. */
const native = globalThis.process?.getBuiltinModule?.('node:buffer')?.isUtf8
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Whether the bytes are well-formed UTF-8. */
export function isUtf8(bytes: Uint8Array): boolean {
  if (native !== undefined) return native(bytes)
  try {
    decoder.decode(bytes)
    return true
  } catch {
    return false
  }
}

/** Whether every row is well-formed UTF-8 by itself: all of it is, and no row begins within a character. */
export function areUtf8(bytes: Uint8Array, offsets: Uint32Array): boolean {
  if (!isUtf8(bytes)) return false
  for (let i = 0; i < offsets.length; i++) {
    if ((bytes[offsets[i]] & 0xc0) === 0x80) return false
  }
  return true
}

/** Bytes that a string has in UTF-8, without encoding it. A half of a surrogate pair that stands alone becomes U+FFFD there, of 3 bytes. */
export function utf8Bytes(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    bytes += unit < 0x800 ? 1 : 2
    // A pair has 4 bytes for its two units.
    if (unit >= 0xd800 && unit < 0xdc00 && isLowHalf(text.charCodeAt(i + 1))) i++
  }
  return bytes
}

function isLowHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}
