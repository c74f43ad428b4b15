import { bodyBytes, type Segment, type SegmentBody } from './segment.js'

/** Bounds the segments that are in memory: the least recently used ones are let go. */
export class SegmentCache {
  readonly #capacity: number
  /** In the order of their last use. */
  readonly #segments = new Map<Segment, SegmentBody>()
  #bytes = 0

  /** @param capacity bytes */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get bytes(): number {
    return this.#bytes
  }

  get capacity(): number {
    return this.#capacity
  }

  /** Notes that a segment was used, if it is counted here. */
  touch(segment: Segment): void {
    const body = this.#segments.get(segment)
    if (body === undefined) return
    this.#segments.delete(segment)
    this.#segments.set(segment, body)
  }

  /** Takes the body of a segment in, and lets others go for it. */
  add(segment: Segment, body: SegmentBody): void {
    segment.body = body
    this.#segments.set(segment, body)
    this.#bytes += bodyBytes(body)
    for (const oldest of this.#segments.keys()) {
      if (this.#bytes <= this.#capacity) break
      this.remove(oldest)
      oldest.body = undefined
    }
  }

  /** Counts a segment no longer, without touching its body. */
  remove(segment: Segment): void {
    const body = this.#segments.get(segment)
    if (body === undefined) return
    this.#segments.delete(segment)
    this.#bytes -= bodyBytes(body)
  }
}
