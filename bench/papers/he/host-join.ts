import type { Workload } from './workload.js'

/** What a join comes to: enough to tell whether another found the same. */
export interface Outcome {
  readonly pairs: number
  /** Sum over pairs of left row × a + right row × b, modulo 2^32. */
  readonly checksum: number
}

export interface TimedOutcome extends Outcome {
  readonly ms: number
}

const LEFT_FACTOR = 0x9e3779b1
const RIGHT_FACTOR = 0x85ebca6b

/** What a pair adds to a checksum. */
function pairSum(left: number, right: number): number {
  return Math.imul(left + 1, LEFT_FACTOR) ^ Math.imul(right + 1, RIGHT_FACTOR)
}

/**
 * A plain hash join in one thread: chains through arrays over the right side, probed by the left one, pairs written to two columns.
 * The checksum is taken afterwards.
 */
export function hostJoin({ left, right }: Workload): TimedOutcome {
  const begin = performance.now()
  const slots = 2 ** Math.ceil(Math.log2(Math.max(2, 2 * right.length)))
  const shift = 32 - Math.log2(slots)
  const heads = new Int32Array(slots).fill(-1)
  const next = new Int32Array(right.length)
  for (let i = 0; i < right.length; i++) {
    const slot = Math.imul(right[i]!, LEFT_FACTOR) >>> shift
    next[i] = heads[slot]!
    heads[slot] = i
  }
  let leftRows = new Uint32Array(left.length)
  let rightRows = new Uint32Array(left.length)
  let pairs = 0
  for (let i = 0; i < left.length; i++) {
    const key = left[i]!
    for (let j = heads[Math.imul(key, LEFT_FACTOR) >>> shift]!; j >= 0; j = next[j]!) {
      if (right[j] !== key) continue
      if (pairs === leftRows.length) {
        leftRows = grown(leftRows)
        rightRows = grown(rightRows)
      }
      leftRows[pairs] = i
      rightRows[pairs] = j
      pairs++
    }
  }
  const ms = performance.now() - begin
  return { ms, pairs, checksum: checksumOf(leftRows, rightRows, pairs) }
}

export function checksumOf(leftRows: Uint32Array, rightRows: Uint32Array, pairs: number): number {
  let sum = 0
  for (let i = 0; i < pairs; i++) sum = (sum + pairSum(leftRows[i]!, rightRows[i]!)) | 0
  return sum >>> 0
}

function grown(rows: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * rows.length)
  larger.set(rows)
  return larger
}
