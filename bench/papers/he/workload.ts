import { scattered } from '../../keys.js'

/** Keys of both sides of a join in host memory; the rows are their positions. */
export interface Workload {
  readonly left: Uint32Array
  readonly right: Uint32Array
}

/** He's non-uniform relations give this key to a share of their rows (§5.1). */
const COMMON_KEY = 1

/** Position i of a side goes to the place that a bijection of the numbers below a power of two gives it. */
function shuffled(i: number, count: number): number {
  return Math.imul(i ^ (i >>> 5), 0x9e3779b1) & (count - 1)
}

/**
 * Unique random keys on both sides, in different orders.
 * @param count of each side, a power of two
 * @param selectivity share of left rows that match
 */
export function uniqueKeys(count: number, selectivity = 1): Workload {
  const left = new Uint32Array(count)
  const right = new Uint32Array(count)
  const matching = Math.round(count * selectivity)
  for (let i = 0; i < count; i++) {
    right[i] = scattered(i)
    // Numbers past the count have keys that no right row has.
    const number = shuffled(i, count)
    left[i] = scattered(number < matching ? number : number + count)
  }
  return { left, right }
}

/** Unique random keys on the right, and left rows a share of which has one key (He §5.1). */
export function duplicateKeys(count: number, share: number): Workload {
  const { left, right } = uniqueKeys(count)
  right[0] = COMMON_KEY
  const common = Math.round(count * share)
  for (let i = 0; i < count; i++) if (shuffled(i, count) < common) left[i] = COMMON_KEY
  return { left, right }
}

/** As many keys of 64 bits, equal where the given ones are; low word first. */
export function widened(keys: Uint32Array): Uint32Array {
  const words = new Uint32Array(2 * keys.length)
  for (let i = 0; i < keys.length; i++) {
    words[2 * i] = keys[i]!
    words[2 * i + 1] = scattered(keys[i]! ^ 0x2545f491)
  }
  return words
}
