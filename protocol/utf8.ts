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
