/** Entries that there is room for at first. */
const LEAST_ROOM = 16

/**
 * A map by whole numbers of entries that come and go, such as requests under way. A `Map` makes a new table whenever as many have come as it has
 * room for, and each table refers to the one after it: once one of them has grown old, all that come later seem to be in use until the
 * next collection of all memory, with all that was ever in them. Here the table is made anew only where more are there at a time.
 */
export class IdMap<T> {
  /** Open addressing: an entry is at its place, or behind it with no gap between. */
  #ids: (number | undefined)[] = new Array(2 * LEAST_ROOM)
  #values: (T | undefined)[] = new Array(2 * LEAST_ROOM)
  #mask = 2 * LEAST_ROOM - 1
  #size = 0

  get size(): number {
    return this.#size
  }

  has(id: number): boolean {
    return this.#ids[this.#find(id)] === id
  }

  get(id: number): T | undefined {
    return this.#values[this.#find(id)]
  }

  set(id: number, value: T): void {
    let at = this.#find(id)
    if (this.#ids[at] === undefined) {
      if (2 * this.#size > this.#mask) {
        this.#grow()
        at = this.#find(id)
      }
      this.#size++
      this.#ids[at] = id
    }
    this.#values[at] = value
  }

  /** @returns what was there */
  delete(id: number): T | undefined {
    let gap = this.#find(id)
    if (this.#ids[gap] === undefined) return undefined
    const value = this.#values[gap]
    this.#size--
    // What is behind it goes where it would have been without it.
    for (let at = (gap + 1) & this.#mask; ; at = (at + 1) & this.#mask) {
      const next = this.#ids[at]
      if (next === undefined) break
      if (((at - next) & this.#mask) < ((at - gap) & this.#mask)) continue
      this.#ids[gap] = next
      this.#values[gap] = this.#values[at]
      gap = at
    }
    this.#ids[gap] = undefined
    this.#values[gap] = undefined
    return value
  }

  clear(): void {
    this.#ids.fill(undefined)
    this.#values.fill(undefined)
    this.#size = 0
  }

  /** All that is there, in the order of the ids. */
  entries(): (readonly [number, T])[] {
    const all = this.#ids.flatMap((id, at) =>
      id === undefined ? [] : [[id, this.#values[at] as T] as const],
    )
    return all.sort(([one], [other]) => one - other)
  }

  values(): T[] {
    return this.entries().map(([, value]) => value)
  }

  /** Where an id is, or would be. */
  #find(id: number): number {
    let at = id & this.#mask
    for (let there = this.#ids[at]; there !== undefined && there !== id; there = this.#ids[at]) {
      at = (at + 1) & this.#mask
    }
    return at
  }

  #grow(): void {
    const ids = this.#ids
    const values = this.#values
    this.#mask = 2 * this.#mask + 1
    this.#ids = new Array(this.#mask + 1)
    this.#values = new Array(this.#mask + 1)
    ids.forEach((id, i) => {
      if (id === undefined) return
      const at = this.#find(id)
      this.#ids[at] = id
      this.#values[at] = values[i]
    })
  }
}
