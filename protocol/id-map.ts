/**
 * A map by whole numbers of entries that come and go, such as requests under way. A `Map` makes a new table whenever as many have come as it has
 * room for, and each table refers to the one after it: once one of them has grown old, all that come later seem to be in use until the
 * next collection of all memory, with all that was ever in them. An object's elements have no such tables.
 */
export class IdMap<T extends NonNullable<unknown>> {
  #entries: { [id: number]: T } = {}
  #size = 0

  get size(): number {
    return this.#size
  }

  has(id: number): boolean {
    return this.#entries[id] !== undefined
  }

  get(id: number): T | undefined {
    return this.#entries[id]
  }

  set(id: number, value: T): void {
    if (!this.has(id)) this.#size++
    this.#entries[id] = value
  }

  /** @returns what was there */
  delete(id: number): T | undefined {
    const value = this.#entries[id]
    if (value === undefined) return undefined
    delete this.#entries[id]
    this.#size--
    return value
  }

  /** Takes all out, in the same order as `values`. */
  takeAll(): T[] {
    const all = this.values()
    this.#entries = {}
    this.#size = 0
    return all
  }

  /** All that is there; in the order of the ids where these have up to 32 bits, else of their coming. */
  values(): T[] {
    return Object.values(this.#entries)
  }
}
