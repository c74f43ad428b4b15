import { findSegment, type Segment } from './segment.js'

/** The rows that an index's segments held when this was made, and a mark for each, of one bit. */
export class HeldRows {
  /** Rows that are held. */
  readonly size: number
  readonly #segments: readonly Segment[]
  /** Rows in the segments before each. */
  readonly #before: Float64Array
  readonly #marks: Uint8Array

  /** @param segments in the order of their rows */
  constructor(segments: readonly Segment[]) {
    this.#segments = [...segments]
    this.#before = new Float64Array(segments.length)
    let rows = 0
    segments.forEach(({ count }, i) => {
      this.#before[i] = rows
      rows += count
    })
    this.size = rows
    this.#marks = new Uint8Array(Math.ceil(rows / 8))
  }

  /** Marks a row, if it is held. */
  mark(row: number): void {
    const rank = this.#rank(row)
    if (rank !== undefined) this.#marks[Math.floor(rank / 8)] |= 1 << (rank % 8)
  }

  /** Whether a row is held and was not marked. */
  isUnmarked(row: number): boolean {
    const rank = this.#rank(row)
    return rank !== undefined && (this.#marks[Math.floor(rank / 8)] & (1 << (rank % 8))) === 0
  }

  /** How many held rows come before a held row. */
  #rank(row: number): number | undefined {
    const at = findSegment(this.#segments, row)
    if (at < 0) return undefined
    const { firstRow, count } = this.#segments[at]
    return row < firstRow + count ? this.#before[at] + row - firstRow : undefined
  }
}
