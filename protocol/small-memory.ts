/**
 * Up to this size arrays lie in shared pieces of memory: one with memory of its own takes longer to make, and to clear away, than it takes to write what
 * is so small.
 */
const SMALL_BYTES = 1024
const PIECE_BYTES = 8 * 1024

let piece = new Uint8Array(PIECE_BYTES)
let used = 0

/** Zeros, for a frame or a column that is soon done with, at a multiple of 8 bytes. */
export function smallMemory(bytes: number): Uint8Array<ArrayBuffer> {
  if (bytes > SMALL_BYTES) return new Uint8Array(bytes)
  if (used + bytes > PIECE_BYTES) {
    piece = new Uint8Array(PIECE_BYTES)
    used = 0
  }
  const memory = piece.subarray(used, used + bytes)
  used += Math.ceil(bytes / 8) * 8
  return memory
}
