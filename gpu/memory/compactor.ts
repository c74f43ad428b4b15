import type { Recorder } from '../device/recorder.js'
import { PageRun } from './page-run.js'
import { PAGE_BYTES, type Pages, pagesFor, type Slab } from './slab.js'
import type { SlabSet } from './slab-set.js'

/** Free pages that are scattered may be this share of what is live: more of them are brought together. */
const MOST_SCATTERED = 0.2

/** Fewer are not worth it. */
const LEAST_SCATTERED = (64 * 1024) / PAGE_BYTES

/** Bytes that are moved in a step, so that requests come in between. */
const BYTES_A_STEP = 2 ** 24

/** Runs for which a place is looked for in a step. */
const RUNS_A_STEP = 256

/** A run of which a part is copied already to the pages that it is going to have. */
interface LongMove {
  readonly run: PageRun
  readonly pages: Pages
  /** Its place, and how often it had been written to, when that began. */
  readonly key: string
  readonly size: number
  readonly writes: number
  copiedBytes: number
}

/**
 * Brings free pages of a sort together, step by step: the last runs go to the first free pages that have room for them, so that slabs at the end get
 * empty. Where none fits anywhere before it, one slides over the free pages that it lies behind. As all runs go towards the start there is an end of it.
 */
export class Compactor {
  readonly #slabs: SlabSet
  #long: LongMove | undefined

  constructor(slabs: SlabSet) {
    this.#slabs = slabs
  }

  /** Whether runs are to be moved. */
  get isDue(): boolean {
    return this.#long !== undefined || this.#isScattered
  }

  get #isScattered(): boolean {
    const { scatteredPages, livePages } = this.#slabs
    return scatteredPages > Math.max(MOST_SCATTERED * livePages, LEAST_SCATTERED)
  }

  /** @returns whether anything was moved */
  step(recorder: Recorder): boolean {
    return this.#goOn(recorder) || this.#moveLast(recorder) || this.#slide(recorder)
  }

  #moveLast(recorder: Recorder): boolean {
    let [bytes, looks] = [0, 0]
    for (const run of this.#lastFirst()) {
      if (looks++ === RUNS_A_STEP || (bytes > 0 && bytes + run.size > BYTES_A_STEP)) break
      const pages = this.#slabs.findBefore(run)
      if (pages === undefined) continue
      this.#move(recorder, run, pages)
      bytes += run.size
      if (!this.#isScattered) break
    }
    return bytes > 0
  }

  *#lastFirst(): Iterable<PageRun> {
    for (const { runs } of [...this.#slabs.slabs].reverse()) {
      yield* [...runs].sort((one, other) => other.firstPage - one.firstPage)
    }
  }

  /**
   * Moves the run for which that is least work for the free pages before it: out of the way, and the next step to where these begin, since nothing may be
   * copied over itself.
   */
  #slide(recorder: Recorder): boolean {
    let [best, bestGain] = [undefined as PageRun | undefined, 0]
    for (const slab of this.#slabs.slabs) {
      const free = freeBehind(slab)
      for (const run of slab.runs) {
        const gain = (free.get(run.firstPage) ?? 0) / pagesFor(run.size)
        if (gain > bestGain) [best, bestGain] = [run, gain]
      }
    }
    const aside = best && this.#slabs.find(pagesFor(best.size), false)
    if (best === undefined || aside === undefined) return false
    this.#move(recorder, best, aside)
    return true
  }

  #move(recorder: Recorder, run: PageRun, pages: Pages): void {
    const { key, size, writes } = run
    this.#long = { run, pages, key, size, writes, copiedBytes: 0 }
    this.#goOn(recorder)
  }

  /** Copies the next part of a run that is being moved; all of it where it was written to since the first. */
  #goOn(recorder: Recorder): boolean {
    const long = this.#long
    if (long === undefined) return false
    const { run, pages, key, size, writes, copiedBytes } = long
    if (run.key !== key || !run.slab.runs.has(run)) {
      // It has grown meanwhile, or is gone.
      pages.slab.free.release(pages.first, pagesFor(size))
      this.#long = undefined
    } else if (run.writes !== writes) {
      this.#slabs.move(recorder, run, pages, size, size)
      this.#long = undefined
    } else if (size - copiedBytes <= BYTES_A_STEP) {
      this.#slabs.move(recorder, run, pages, size, size, copiedBytes)
      this.#long = undefined
    } else {
      const source = PageRun.at(run.label, { slab: run.slab, first: run.firstPage }, size)
      const target = PageRun.at(run.label, pages, size)
      recorder.copy(source, copiedBytes, target, copiedBytes, BYTES_A_STEP)
      long.copiedBytes += BYTES_A_STEP
    }
    return true
  }
}

/** Numbers of free pages by the page behind them. */
function freeBehind({ free }: Slab): ReadonlyMap<number, number> {
  return new Map(free.runs.map(({ first, pages }) => [first + pages, pages]))
}
