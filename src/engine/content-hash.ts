import type { CutColumn } from '../../protocol/columns.js'
/**
 * Writes the 64-bit HalfSipHash-1-3 of every payload into the last two words (low, high) of its row of four; the first two are
 * left alone. Equal hashes stand for equal payloads, so the hash is keyed by the index's secret seed: who does not know it
 * cannot make two payloads collide (Aumasson and Bernstein, "SipHash: a fast short-input PRF", in its 32-bit variant).
 *
 * @param rows receives them
 */
export function hashPayloads(
  { bytes, offsets }: CutColumn,
  seed: readonly [low: number, high: number],
  rows: Uint32Array,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let i = 0; i < offsets.length - 1; i++) {
    const start = offsets[i]
    const end = offsets[i + 1]
    const words = (end - start) >>> 2
    let low = 0
    let v0 = seed[0]
    let v1 = seed[1] ^ 0xee
    let v2 = seed[0] ^ 0x6c796765
    let v3 = seed[1] ^ 0x74656462
    // A round for each word, one for what fills no word, and three to finish each half of the hash.
    for (let round = 0; round < words + 7; round++) {
      let word = 0
      if (round < words) word = view.getInt32(start + round * 4, true)
      else if (round === words) word = lastWord(bytes, start + words * 4, end, end - start)
      else if (round === words + 1) v2 ^= 0xee
      else if (round === words + 4) {
        low = v1 ^ v3
        v1 ^= 0xdd
      }
      v3 ^= word
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
      v0 ^= word
    }
    rows[i * 4 + 2] = low
    rows[i * 4 + 3] = v1 ^ v3
  }
}

/** The up to three bytes that fill no word; the length modulo 256 is the highest byte. */
function lastWord(bytes: Uint8Array, position: number, end: number, length: number): number {
  let word = length << 24
  for (let shift = 0; position < end; position++, shift += 8) word |= bytes[position] << shift
  return word
}
