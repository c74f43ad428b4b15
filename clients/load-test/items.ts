/**
 * The item numbers of one process: all items of the data set, and those that it inserts itself. Processes insert in turns, so that no
 * item is inserted twice. Within the process items have **places**: the data set's first, then its own in their order.
 */
export class Items {
  readonly #records: number
  readonly #process: number
  readonly #processes: number
  #next: number
  #stored: number
  /** Inserts that were answered while one before them was not: first place, and how many. */
  readonly #gaps = new Map<number, number>()

  constructor(records: number, process: number, processes: number) {
    this.#records = records
    this.#process = process
    this.#processes = processes
    this.#next = records
    this.#stored = records
  }

  /** Places below this have items that are stored for certain. */
  get stored(): number {
    return this.#stored
  }

  /** Number of inserted items in all, stored or on their way. */
  get inserted(): number {
    return this.#next - this.#records
  }

  /** Changes places to item numbers. */
  number(places: Uint32Array, count: number): void {
    for (let i = 0; i < count; i++) {
      const beyond = places[i] - this.#records
      if (beyond >= 0) places[i] = this.#records + beyond * this.#processes + this.#process
    }
  }

  /** The place of an item that has one here. */
  place(item: number): number {
    const beyond = item - this.#records
    return beyond < 0 ? item : this.#records + Math.floor(beyond / this.#processes)
  }

  /** Takes places for new items. @returns the first */
  take(count: number): number {
    const first = this.#next
    this.#next += count
    return first
  }

  /** Says that taken ones are stored. */
  acknowledge(first: number, count: number): void {
    this.#gaps.set(first, count)
    for (;;) {
      const length = this.#gaps.get(this.#stored)
      if (length === undefined) return
      this.#gaps.delete(this.#stored)
      this.#stored += length
    }
  }
}
