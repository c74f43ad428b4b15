interface Range {
  start: number
  end: number
}

/** What is free of a memory, and who gets what of it: the first range that is large enough. */
export class FreeRanges {
  /** In order; no two touch. */
  readonly #ranges: Range[]

  constructor(start: number, end: number) {
    this.#ranges = [{ start, end }]
  }

  /** @returns where so many bytes start that are taken from now on; undefined where no range is large enough */
  take(bytes: number): number | undefined {
    const at = this.#ranges.findIndex(({ start, end }) => end - start >= bytes)
    const range = this.#ranges[at]
    if (range === undefined) return undefined
    const { start } = range
    range.start += bytes
    if (range.start === range.end) this.#ranges.splice(at, 1)
    return start
  }

  /** Gives back what `take` gave. */
  give(start: number, bytes: number): void {
    const end = start + bytes
    const found = this.#ranges.findIndex((range) => range.start > start)
    const at = found < 0 ? this.#ranges.length : found
    const before = this.#ranges[at - 1]
    const after = this.#ranges[at]
    const joinsBefore = before?.end === start
    const joinsAfter = after?.start === end
    if (joinsBefore && joinsAfter) {
      before.end = after.end
      this.#ranges.splice(at, 1)
    } else if (joinsBefore) before.end = end
    else if (joinsAfter) after.start = start
    else this.#ranges.splice(at, 0, { start, end })
  }
}
