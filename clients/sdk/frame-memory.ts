/**
 * Frames of up to this size lie in shared pieces of memory: an array with memory of its own takes longer to make, and to clear away, than such a
 * frame takes to write.
 */
const SMALL_BYTES = 1024
const PIECE_BYTES = 8 * 1024

let piece = new Uint8Array(PIECE_BYTES)
let used = 0

/** Zeros for a frame. */
export function frameMemory(bytes: number): Uint8Array<ArrayBuffer> {
  if (bytes > SMALL_BYTES) return new Uint8Array(bytes)
  if (used + bytes > PIECE_BYTES) {
    piece = new Uint8Array(PIECE_BYTES)
    used = 0
  }
  const memory = piece.subarray(used, used + bytes)
  used += Math.ceil(bytes / 8) * 8
  return memory
}
