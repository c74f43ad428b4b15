/** Pages that nobody has, next to each other. */
export interface FreeRun {
  readonly first: number
  readonly pages: number
}

/** Which pages of a slab are free, by their numbers. */
export class FreePages {
  /** In the order of their numbers; no two of them are next to each other. */
  readonly #runs: { first: number; pages: number }[]
  #free: number

  constructor(pages: number) {
    this.#runs = [{ first: 0, pages }]
    this.#free = pages
  }

  get count(): number {
    return this.#free
  }

  /** In the order of their numbers. */
  get runs(): readonly FreeRun[] {
    return this.#runs
  }

  /** Pages of the longest run. */
  get longest(): number {
    return this.#runs.reduce((most, { pages }) => Math.max(most, pages), 0)
  }

  /**
   * Takes a run of pages from the first one that has so many, if it begins before a page.
   * @returns number of its first page; undefined where there is none
   */
  takeFirst(pages: number, before = Number.POSITIVE_INFINITY): number | undefined {
    const found = this.#runs.findIndex((run) => run.pages >= pages)
    return found < 0 || this.#runs[found]!.first >= before ? undefined : this.#takeFrom(found, pages)
  }

  /** As `takeFirst`, from the longest one, for an owner that is going to grow. */
  takeLongest(pages: number): number | undefined {
    const { longest } = this
    return longest < pages
      ? undefined
      : this.#takeFrom(
          this.#runs.findIndex((run) => run.pages === longest),
          pages,
        )
  }

  /**
   * Takes the pages from number `first` on: as many as are free, up to `most`.
   * @returns how many; 0 where they are fewer than `least`
   */
  takeAt(first: number, least: number, most: number): number {
    const i = this.#after(first - 1)
    const run = this.#runs[i]
    if (run?.first !== first || run.pages < least) return 0
    const pages = Math.min(run.pages, most)
    this.#takeFrom(i, pages)
    return pages
  }

  /** Gives pages back. */
  release(first: number, pages: number): void {
    if (pages === 0) return
    this.#free += pages
    const i = this.#after(first)
    const [before, after] = [this.#runs[i - 1], this.#runs[i]]
    const joinsAfter = after?.first === first + pages
    if (before !== undefined && before.first + before.pages === first) {
      before.pages += pages + (joinsAfter ? after.pages : 0)
      if (joinsAfter) this.#runs.splice(i, 1)
    } else if (joinsAfter) {
      after.first = first
      after.pages += pages
    } else {
      this.#runs.splice(i, 0, { first, pages })
    }
  }

  #takeFrom(i: number, pages: number): number {
    const run = this.#runs[i]!
    const { first } = run
    run.first += pages
    run.pages -= pages
    if (run.pages === 0) this.#runs.splice(i, 1)
    this.#free -= pages
    return first
  }

  /** Number of the first run that begins after a page. */
  #after(page: number): number {
    let [low, high] = [0, this.#runs.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#runs[middle]!.first <= page) low = middle + 1
      else high = middle
    }
    return low
  }
}
