import { type CutColumn, columnOf } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { nearPartitionPoint, partitionPoint } from '../../protocol/partition-point.js'
import { compareBytes } from '../../protocol/relation-batch.js'

/** What becomes of two lists of strings when they are one: the number that each string has then. */
export interface MergedStrings {
  readonly strings: StringDictionary
  /** Numbers of those that were there; undefined where they keep theirs. */
  readonly moved: Uint32Array | undefined
  /** Numbers of those that came. */
  readonly added: Uint32Array
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const encoder = new TextEncoder()

/** Bytes of strings that are decoded at once. */
const DECODED_BYTES = 2 ** 14

/**
 * The different strings of a column, ascending by their UTF-8 bytes, so that the order of numbers is that of strings. It does not change: a column that gets
 * new ones gets another list.
 */
export class StringDictionary implements CutColumn {
  readonly bytes: Uint8Array
  readonly offsets: Uint32Array

  /** @param offsets string i is bytes offsets[i] to offsets[i + 1] */
  constructor(bytes: Uint8Array = new Uint8Array(0), offsets: Uint32Array = Uint32Array.of(0)) {
    this.bytes = bytes
    this.offsets = offsets
  }

  get size(): number {
    return this.offsets.length - 1
  }

  /** The string with a number below `size`. */
  at(code: number): string {
    return decoder.decode(this.#bytesAt(code))
  }

  /** All strings in their order. Many are decoded at once, which takes a fraction of the time. */
  *texts(): Generator<string> {
    for (let first = 0; first < this.size; ) {
      const start = this.offsets[first]
      let end = first + 1
      while (end < this.size && this.offsets[end + 1] - start <= DECODED_BYTES) end++
      const text = decoder.decode(this.bytes.subarray(start, this.offsets[end]))
      const isAscii = text.length === this.offsets[end] - start
      for (; first < end; first++) {
        yield isAscii
          ? text.slice(this.offsets[first] - start, this.offsets[first + 1] - start)
          : this.at(first)
      }
    }
  }

  /** UTF-8 bytes of that string. */
  bytesOf(code: number): number {
    return this.offsets[code + 1] - this.offsets[code]
  }

  /** The strings with some numbers. */
  choose(codes: Uint32Array): CutColumn {
    return columnOf(Array.from(codes, (code) => this.#bytesAt(code)))
  }

  /** The number of the first string that is not less than `text`; `size` if all are. */
  lowerBound(text: string): number {
    const bytes = encoder.encode(text)
    return partitionPoint(0, this.size, (code) => this.#compare(code, bytes, 0, bytes.length) < 0)
  }

  /**
   * The strings of both lists.
   * @param others ascending too
   * @throws WarpdexError `TOO_LARGE` over `columnStringBytes`
   */
  merge(others: CutColumn): MergedStrings {
    const { bytes, offsets } = others
    const added = new Uint32Array(offsets.length - 1)
    const fresh: NewString[] = []
    let [low, from, to] = [0, 0, 0]
    const isLess = (code: number) => this.#compare(code, bytes, from, to) < 0
    for (let number = 0; number < added.length; number++) {
      from = offsets[number]
      to = offsets[number + 1]
      low = nearPartitionPoint(low, this.size, isLess)
      added[number] = low + fresh.length
      const isNew = low === this.size || this.#compare(low, bytes, from, to) !== 0
      if (isNew) fresh.push({ before: low, number })
    }
    if (fresh.length === 0) return { strings: this, moved: undefined, added }
    // Those that come last move nobody.
    const moved = fresh[0].before === this.size ? undefined : movedBy(fresh, this.size)
    return { strings: this.#with(others, fresh), moved, added }
  }

  #bytesAt(code: number): Uint8Array {
    return this.bytes.subarray(this.offsets[code], this.offsets[code + 1])
  }

  #compare(code: number, bytes: Uint8Array, from: number, to: number): number {
    return compareBytes(this.bytes, this.offsets[code], this.offsets[code + 1], bytes, from, to)
  }

  #with(others: CutColumn, fresh: readonly NewString[]): StringDictionary {
    const length = fresh.reduce(
      (sum, { number }) => sum + others.offsets[number + 1] - others.offsets[number],
      this.bytes.length,
    )
    if (length > LIMITS.columnStringBytes) {
      throw new WarpdexError(
        'TOO_LARGE',
        `the different strings of the column would have ${length} bytes; ${LIMITS.columnStringBytes} are allowed`,
      )
    }
    const bytes = new Uint8Array(length)
    const offsets = new Uint32Array(this.size + fresh.length + 1)
    let count = 0
    let end = 0
    const take = (source: CutColumn, first: number, after: number) => {
      const start = source.offsets[first]
      bytes.set(source.bytes.subarray(start, source.offsets[after]), end)
      for (let i = first + 1; i <= after; i++) offsets[++count] = end + source.offsets[i] - start
      end = offsets[count]
    }
    let taken = 0
    for (const { before, number } of fresh) {
      take(this, taken, before)
      take(others, number, number + 1)
      taken = before
    }
    take(this, taken, this.size)
    return new StringDictionary(bytes, offsets)
  }
}

/** One of the others that is not there. */
interface NewString {
  /** How many of the strings that are there come before it. */
  readonly before: number
  /** Its number among the others. */
  readonly number: number
}

function movedBy(fresh: readonly NewString[], size: number): Uint32Array {
  const moved = new Uint32Array(size)
  let passed = 0
  for (let i = 0; i < size; i++) {
    while (passed < fresh.length && fresh[passed].before <= i) passed++
    moved[i] = i + passed
  }
  return moved
}
