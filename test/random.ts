/** A small seeded generator (xorshift32), so that every random test can be run again. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = (seed ^ 0x9e3779b9) >>> 0 || 1
    for (let i = 0; i < 8; i++) this.word()
  }

  /** 32 random bits. */
  word(): number {
    let x = this.#state
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    this.#state = x >>> 0
    return this.#state
  }

  /** An integer from 0 to below `bound`. */
  below(bound: number): number {
    return Math.floor((this.word() / 2 ** 32) * bound)
  }

  chance(probability: number): boolean {
    return this.word() / 2 ** 32 < probability
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.word() & 255)
  }
}

/** The seed of a random test: another one each time, unless `TEST_SEED` has one of a run that is to be repeated. Print it. */
export function seedOfRun(): number {
  return Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
}

/** Every other case, which ones by the seed: random tests that take long of each case try half of them with one change, and the others with another. */
export function everyOther<T>(cases: readonly T[], seed: number): T[] {
  return cases.filter((_, i) => (i + seed) % 2 === 0)
}
