import { setImmediate } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import type { Column } from '../../protocol/columns.js'

/** Bytes of a column that are gone through at a time: a fifth of a millisecond, where a core is slow. */
const PIECE_BYTES = 256 * 1024

/** The polynomial of CRC-32, its coefficients in reverse: bit 31 is that of x^0. */
const POLYNOMIAL = 0xedb88320
const ONE = 0x80000000
const X = 0x40000000

/** x to the powers 2^0, 2^1, … modulo the polynomial; that of 2^32 is that of 2 again. */
const POWERS: number[] = []
for (let power = X; POWERS.length < 32; power = multiply(power, power)) POWERS.push(power)

/**
 * The CRC-32 of a column that does not change meanwhile, between other events of the thread: for whoever waits for something else, too.
 * @returns undefined for a column that is shorter than a piece, which is not worth a turn of the event loop
 */
export async function checksumInPieces(column: Uint8Array): Promise<number | undefined> {
  if (column.byteLength < PIECE_BYTES) return undefined
  let checksum = 0
  for (let at = 0; at < column.byteLength; at += PIECE_BYTES) {
    await setImmediate()
    checksum = crc32(column.subarray(at, at + PIECE_BYTES), checksum)
  }
  return checksum
}

/**
 * The CRC-32 of two rows of bytes one behind the other, from those of each, as zlib's `crc32_combine`: that of the first is moved on by as many
 * zero bytes as the second has.
 */
export function joinedChecksum(first: number, second: number, secondBytes: number): number {
  let shift = ONE
  // 8 bits a byte: the first power is x^8. Lengths may have more than 32 bits.
  for (let bytes = secondBytes, k = 3; bytes > 0; bytes = Math.floor(bytes / 2), k++) {
    if (bytes % 2 === 1) shift = multiply(POWERS[k % 32], shift)
  }
  return (multiply(shift, first) ^ second) >>> 0
}

/** The CRC-32 of several rows of bytes one behind the other; undefined where that of one is not known. */
export function checksumOfAll(
  parts: readonly (Pick<Column, 'checksum' | 'bytes'> | undefined)[],
): number | undefined {
  let all = 0
  for (const part of parts) {
    if (part?.checksum === undefined) return undefined
    all = joinedChecksum(all, part.checksum, part.bytes.byteLength)
  }
  return all
}

/** The product of two polynomials over bits, modulo that of CRC-32. */
function multiply(a: number, b: number): number {
  let product = 0
  for (let i = 31, factor = b; i >= 0; i--) {
    if ((a >>> i) & 1) product ^= factor
    factor = (factor & 1) === 1 ? (factor >>> 1) ^ POLYNOMIAL : factor >>> 1
  }
  return product >>> 0
}
