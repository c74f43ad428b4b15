/** The result code that all items of a write have, if they have one in common. */
export function uniformCode(codes: Uint8Array): number | undefined {
  if (codes.length === 0) return undefined
  // All are equal if each is equal to the next. This comparison is native, and a loop over a million items is not.
  return Buffer.compare(codes.subarray(1), codes.subarray(0, -1)) === 0 ? codes[0] : undefined
}
