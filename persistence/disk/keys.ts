/** Key of something that an index has many of, in order: index id (u32), number (u64), both big-endian. */
export function numberedKey(index: number, number: number): Buffer {
  const key = Buffer.allocUnsafe(12)
  key.writeUInt32BE(index, 0)
  key.writeBigUInt64BE(BigInt(number), 4)
  return key
}

/** The number of a key that begins as `numberedKey` makes it. */
export function numberOf(key: Buffer): number {
  return Number(key.readBigUInt64BE(4))
}

/** Key of an index. */
export function indexKey(index: number): Buffer {
  const key = Buffer.allocUnsafe(4)
  key.writeUInt32BE(index, 0)
  return key
}

/** The range of all keys that begin with an index id. */
export function keysOfIndex(index: number): { start: Buffer; end: Buffer } {
  return { start: indexKey(index), end: indexKey(index + 1) }
}
