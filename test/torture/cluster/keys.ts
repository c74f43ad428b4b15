/** Numbers as keys of an index that is split over replica sets, on which they take turns. */
export class SpreadKeys {
  readonly #sets: number
  readonly #width: number

  /** @param sets how many replica sets there are */
  constructor(sets: number) {
    this.#sets = sets
    this.#width = Math.floor(2 ** 32 / sets)
  }

  /** Keys at which the index is split. */
  get splitAt(): number[] {
    return Array.from({ length: this.#sets - 1 }, (_, i) => (i + 1) * this.#width)
  }

  keyOf(number: number): number {
    return (number % this.#sets) * this.#width + number
  }

  /** The replica set that a key is on. */
  setOf(key: number): number {
    return Math.floor(key / this.#width)
  }
}
