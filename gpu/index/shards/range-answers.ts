import {
  blankColumn,
  type Column,
  columnOf,
  joinColumns,
  NO_VALUES,
  sliceColumn,
  valueAt,
} from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import { keyWidth, tokenWidth } from '../../../protocol/types.js'
import type { IndexShape, ScanOptions, ScanResult } from '../../index-structure.js'
import { EXPIRY_BYTES, shownBytes } from '../layout.js'

/** What one shard has of a range. */
interface Piece {
  readonly result: ScanResult
  /** The range's number in that result. */
  readonly range: number
}

/** The answers of several shards to one scan, put together range by range. */
export class RangeAnswers {
  readonly #shape: IndexShape
  readonly #request: ScanOptions
  readonly #pieces: Piece[][]
  readonly #entries: Uint32Array
  readonly #more: Uint8Array

  constructor(shape: IndexShape, request: ScanOptions) {
    const { ranges } = request
    this.#shape = shape
    this.#request = request
    this.#pieces = Array.from({ length: ranges }, () => [])
    this.#entries = new Uint32Array(ranges)
    this.#more = new Uint8Array(ranges)
  }

  /**
   * What comes next of some ranges. Those that have room for some have room for all of it.
   * @param numbers which of the request's ranges the result answers
   */
  add(numbers: Uint32Array, result: ScanResult): void {
    const { offsets, more } = result
    numbers.forEach((number, range) => {
      const entries = offsets[range + 1] - offsets[range]
      if (entries === 0) return
      if (this.#entries[number] === this.#request.limit) {
        this.#more[number] = 1
        return
      }
      this.#pieces[number].push({ result, range })
      this.#entries[number] += entries
      this.#more[number] = more[range]
    })
  }

  /** Entries that a range has so far. */
  entries(number: number): number {
    return this.#entries[number]
  }

  /** Whether the range is known to have more entries than its limit. */
  isCut(number: number): boolean {
    return this.#more[number] === 1
  }

  /** @throws WarpdexError `TOO_LARGE` when keys of variable length have more bytes than a frame */
  result(): ScanResult {
    const { keyType } = this.#shape
    const width = tokenWidth(keyType)
    const pieces = this.#pieces.flat()
    const { withoutKeys, withoutPayloads, withExpireAt } = this.#request
    const slices = (name: 'keys' | 'payloads' | 'expireAt', isLeftOut = false) =>
      (isLeftOut ? [] : pieces).map(({ result, range }) => {
        const { [name]: column = NO_VALUES, offsets } = result
        return sliceColumn(column, offsets[range], offsets[range + 1])
      })
    const joined = (columns: readonly Column[], width: number | undefined) =>
      columns.length === 0 ? blankColumn(0, width) : joinColumns(columns)
    const keys = slices('keys', withoutKeys)
    const keyBytes = keys.reduce((sum, { bytes }) => sum + bytes.byteLength, 0)
    if (width === undefined && keyBytes > LIMITS.frameBytes) {
      throw new WarpdexError(
        'TOO_LARGE',
        `the keys of the result have more than ${LIMITS.frameBytes} bytes; ask for fewer at a time`,
      )
    }
    // The position of the last entry of a range's last piece.
    const tokens = this.#pieces.map((own) => {
      const piece = own.at(-1)
      return piece === undefined ? new Uint8Array(width ?? 0) : valueAt(piece.result.tokens, piece.range)
    })
    return {
      offsets: this.#offsets(),
      keys: joined(keys, keyWidth(keyType)),
      payloads: joined(slices('payloads', withoutPayloads), shownBytes(this.#shape)),
      ...(withExpireAt && { expireAt: joined(slices('expireAt'), EXPIRY_BYTES) }),
      more: this.#more,
      tokens: columnOf(tokens, width),
    }
  }

  /** Entries before each range, and of all. */
  #offsets(): Uint32Array {
    const offsets = new Uint32Array(this.#entries.length + 1)
    this.#entries.forEach((entries, range) => {
      offsets[range + 1] = offsets[range] + entries
    })
    return offsets
  }
}
