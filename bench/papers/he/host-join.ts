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
  const leftRows = new GrowingColumn(left.length)
  const rightRows = new GrowingColumn(left.length)
  for (let i = 0; i < left.length; i++) {
    const key = left[i]!
    for (let j = heads[Math.imul(key, LEFT_FACTOR) >>> shift]!; j >= 0; j = next[j]!) {
      if (right[j] !== key) continue
      leftRows.push(i)
      rightRows.push(j)
    }
  }
  const ms = performance.now() - begin
  const pairs = leftRows.length
  return { ms, pairs, checksum: checksumOf(leftRows.words, rightRows.words, pairs) }
}

/**
 * A join by left key <= right key <= left key + delta in one thread: the right side is put in order, and each left key searches it.
 * The checksum is taken afterwards.
 */
export function hostBandJoin({ left, right }: Workload, delta: number): TimedOutcome {
  const begin = performance.now()
  const words = new Uint32Array(keysWithRows(right).sort().buffer)
  const keys = right.map((_, i) => words[2 * i + 1]!)
  const rows = right.map((_, i) => words[2 * i]!)
  const leftRows = new GrowingColumn(left.length)
  const rightRows = new GrowingColumn(left.length)
  for (let i = 0; i < left.length; i++) {
    const least = left[i]!
    for (let at = firstNotBelow(keys, least); at < keys.length && keys[at]! <= least + delta; at++) {
      leftRows.push(i)
      rightRows.push(rows[at]!)
    }
  }
  const ms = performance.now() - begin
  const pairs = leftRows.length
  return { ms, pairs, checksum: checksumOf(leftRows.words, rightRows.words, pairs) }
}

/** Keys with their rows behind them, so that they are sorted as one. */
export function keysWithRows(keys: Uint32Array): BigUint64Array<ArrayBuffer> {
  const words = new Uint32Array(2 * keys.length)
  for (let i = 0; i < keys.length; i++) {
    words[2 * i] = i
    words[2 * i + 1] = keys[i]!
  }
  return new BigUint64Array(words.buffer)
}

function firstNotBelow(sorted: Uint32Array, least: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! < least) low = middle + 1
    else high = middle
  }
  return low
}

/** A column whose length is not known beforehand. */
class GrowingColumn {
  words: Uint32Array
  length = 0

  constructor(room: number) {
    this.words = new Uint32Array(room)
  }

  push(word: number): void {
    if (this.length === this.words.length) {
      const larger = new Uint32Array(2 * this.words.length)
      larger.set(this.words)
      this.words = larger
    }
    this.words[this.length++] = word
  }
}

export function checksumOf(leftRows: Uint32Array, rightRows: Uint32Array, pairs: number): number {
  let sum = 0
  for (let i = 0; i < pairs; i++) sum = (sum + pairSum(leftRows[i]!, rightRows[i]!)) | 0
  return sum >>> 0
}
