import { COPIES } from './command-recorder.js'

/** Milliseconds of a unit of work until some of it was measured: of a workgroup, and of a word that is copied. A GPU is far quicker, so that its first slices are larger. */
const FIRST_GUESS = {
  hardware: { workgroup: 1e-4, word: 1e-7 },
  software: { workgroup: 0.1, word: 4e-6 },
}

/** How far one measurement moves an expectation at most. */
const MOST_GROWTH = 4
const MOST_SHRINKAGE = 1 / 64
/** The same where all of it may have taken what was expected: so that what is expected too long, and sent in parts too small, does not stay so. */
const LEAST_DOUBTFUL = 0.9

/** Less than this is what it takes to notice that work is done, and says nothing of slow work. */
const LEAST_SLOW_MS = { hardware: 1, software: 5 }

/** Between which a number is. */
export interface Bounds {
  readonly least: number
  readonly most: number
}

/** What kinds of work take, learnt from what slices of several kinds took together. */
export class Rates {
  readonly #guess: { readonly workgroup: number; readonly word: number }
  readonly #leastSlow: number
  readonly #known = new WeakMap<object, number>()

  constructor(adapter: 'hardware' | 'software') {
    this.#guess = FIRST_GUESS[adapter]
    this.#leastSlow = LEAST_SLOW_MS[adapter]
  }

  /** Milliseconds of a unit. */
  of(kind: object): number {
    return this.#known.get(kind) ?? (kind === COPIES ? this.#guess.word : this.#guess.workgroup)
  }

  /**
   * @param expected milliseconds of each kind
   * @param measured of all
   */
  learn(expected: ReadonlyMap<object, number>, measured: Bounds): void {
    let sum = 0
    for (const milliseconds of expected.values()) sum += milliseconds
    if (sum === 0) return
    const ratio = this.#ratio(sum, measured)
    // What was most of the slice is most likely to be what was misjudged.
    for (const [kind, milliseconds] of expected) {
      this.#known.set(kind, this.of(kind) * (1 + (ratio - 1) * (milliseconds / sum)))
    }
  }

  /** How many times as long it took as was expected, as far as is known. */
  #ratio(expected: number, { least, most }: Bounds): number {
    if (expected > most) return Math.max(MOST_SHRINKAGE, most / expected)
    if (expected < least) return least < this.#leastSlow ? 1 : Math.min(MOST_GROWTH, least / expected)
    return Math.max(LEAST_DOUBTFUL, Math.min(1, (least + most) / 2 / expected))
  }
}
