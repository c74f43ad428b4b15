/** Pages that nobody has, next to each other. */
interface FreeRun {
  first: number
  pages: number
}

/** Which pages of a slab are free, by their numbers. */
export class FreePages {
  /** In the order of their numbers; no two of them are next to each other. */
  readonly #runs: FreeRun[]
  #free: number

  constructor(pages: number) {
    this.#runs = [{ first: 0, pages }]
    this.#free = pages
  }

  get count(): number {
    return this.#free
  }

  /** Pages of the longest run. */
  get longest(): number {
    return this.#runs.reduce((most, { pages }) => Math.max(most, pages), 0)
  }

  /**
   * Takes a run of pages from the shortest one that has so many, or, for an owner that is going to grow, from the longest one.
   * @returns number of its first page; undefined where there is none
   */
  take(pages: number, grows: boolean): number | undefined {
    let found = -1
    let length = 0
    for (const [i, run] of this.#runs.entries()) {
      if (run.pages < pages) continue
      const isBetter = found < 0 || (grows ? run.pages > length : run.pages < length)
      if (isBetter) [found, length] = [i, run.pages]
    }
    return found < 0 ? undefined : this.#takeFrom(found, pages)
  }

  /** Takes the pages from number `first` on, if all of them are free. */
  takeAt(first: number, pages: number): boolean {
    const i = this.#after(first - 1)
    const run = this.#runs[i]
    if (run?.first !== first || run.pages < pages) return false
    this.#takeFrom(i, pages)
    return true
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
