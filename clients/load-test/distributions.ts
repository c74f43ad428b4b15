import { mix, type Random } from './random.js'

export const DISTRIBUTIONS = ['uniform', 'zipfian', 'latest'] as const
export type Distribution = (typeof DISTRIBUTIONS)[number]

/** YCSB's skew: the most wanted of a million items gets 7 % of the requests. */
export const THETA = 0.99

/** Writes `count` items to `target`, each a number from 0 and one of the first `population` ones. */
export type Chooser = (target: Uint32Array, count: number, population: number) => void

/**
 * @param records items of the data set: what is inserted later is chosen by `latest` only
 */
export function chooser(distribution: Distribution, records: number, random: Random, seed: number): Chooser {
  const ranks = new ZipfianRanks(distribution === 'zipfian' ? records : 1, random)
  if (distribution === 'latest') {
    // Counted from the newest item back.
    return (target, count, population) => {
      ranks.resize(population)
      for (let i = 0; i < count; i++) target[i] = population - 1 - ranks.next()
    }
  }
  if (distribution === 'uniform') {
    return (target, count) => {
      for (let i = 0; i < count; i++) target[i] = random.below(records)
    }
  }
  // Scrambled: the most wanted items lie anywhere in the data set.
  const scramble = permutation(records, seed)
  return (target, count) => {
    for (let i = 0; i < count; i++) target[i] = scramble(ranks.next())
  }
}

/** Where random numbers end that stand for the first two ranks, scaled by zeta. */
const FIRST_TWO = 1 + 0.5 ** THETA

/** Terms of zeta that are added one by one; the rest follows from its Euler-Maclaurin expansion, exact to 12 digits from here. */
const SUMMED_TERMS = 1024

let summed: number | undefined

/** The sum of 1 / i^theta for i from 1 to n. */
export function zeta(n: number): number {
  if (n <= SUMMED_TERMS) return zetaSum(n)
  summed ??= zetaSum(SUMMED_TERMS)
  const integral = (x: number) => x ** (1 - THETA) / (1 - THETA)
  const term = (x: number) => x ** -THETA / 2 - (THETA * x ** (-THETA - 1)) / 12
  return summed + integral(n) - integral(SUMMED_TERMS) + term(n) - term(SUMMED_TERMS)
}

function zetaSum(n: number): number {
  let sum = 0
  for (let i = 1; i <= n; i++) sum += i ** -THETA
  return sum
}

/**
 * Ranks from 0, the most wanted first, by the inversion of Gray et al., Quickly Generating Billion-Record Synthetic Databases
 * (1994), which YCSB uses: exact for the first two ranks, and close for the others.
 */
export class ZipfianRanks {
  readonly #random: Random
  #population = 0
  #zeta = 0
  #eta = 0

  constructor(population: number, random: Random) {
    this.#random = random
    this.resize(population)
  }

  /** Ranks are below `population` from now on. */
  resize(population: number): void {
    if (population === this.#population) return
    this.#population = population
    this.#zeta = zeta(population)
    this.#eta = (1 - (2 / population) ** (1 - THETA)) / (1 - zeta(2) / this.#zeta)
  }

  next(): number {
    const u = this.#random.fraction()
    const scaled = u * this.#zeta
    if (scaled < 1) return 0
    if (scaled < FIRST_TWO) return Math.min(1, this.#population - 1)
    const rank = Math.floor(this.#population * power100(this.#eta * u - this.#eta + 1))
    return Math.min(rank, this.#population - 1)
  }
}

/** x to the power of 1 / (1 - theta): a few products, where the general power would be most of the work. */
function power100(x: number): number {
  const x4 = x * x * (x * x)
  const x16 = x4 * x4 * (x4 * x4)
  const x32 = x16 * x16
  return x32 * x32 * x32 * x4
}

/**
 * A seeded permutation of the numbers below n. YCSB takes a hash modulo n instead, which leaves a third of the items out and adds up
 * the shares of others.
 */
export function permutation(n: number, seed: number): (number: number) => number {
  const bits = Math.max(2, Math.ceil(Math.log2(Math.max(2, n))))
  const mask = 2 ** bits - 1
  const shift = bits >> 1
  const add = mix(seed ^ 0x5ca1ab1e)
  return (number) => {
    let x = number
    // Each step is a bijection of the numbers of that many bits; those that are not below n are sent on.
    do {
      x = Math.imul(x + add, 0x2c1b3c6d) & mask
      x = Math.imul(x ^ (x >>> shift), 0x297a2d39) & mask
      x = (x ^ (x >>> shift)) & mask
      x >>>= 0
    } while (x >= n)
    return x
  }
}
