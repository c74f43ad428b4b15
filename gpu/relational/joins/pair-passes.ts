import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { DeviceWork } from '../query/device-work.js'
import type { Expansion, PairColumns, Slice } from './expand.js'
import type { Matches, PairWriter } from './matches.js'
import { type Counts, type Tallies, type Tally, talliesFrom } from './tally.js'

/** What pairs are written with. */
export interface PairParts {
  readonly primitives: Primitives
  readonly tallies: Tallies
  readonly expansion: Expansion
  /** Pairs whose places are counted together, at most, in 32 bits. */
  readonly slicePairs: number
}

/** The pairs of a pass. */
export interface WrittenPairs {
  readonly columns: PairColumns
  readonly count: number
}

/** Writes the pairs that were counted, in as many passes as it takes (He §4.2). */
export class PairPasses {
  readonly #parts: PairParts
  readonly #work: DeviceWork
  readonly #scratch: Scratch
  readonly #matches: Matches
  readonly #matched: GPUBuffer | undefined

  /**
   * @param scratch holds the matches, and what all passes need
   * @param matched a word for each build row, to be set to 0 for those that are written, if there is one
   */
  constructor(
    parts: PairParts,
    work: DeviceWork,
    scratch: Scratch,
    matches: Matches,
    matched: GPUBuffer | undefined,
  ) {
    this.#parts = parts
    this.#work = work
    this.#scratch = scratch
    this.#matches = matches
    this.#matched = matched
  }

  /**
   * Records a pass, and the next one when it is asked for; their columns are the caller's.
   * @param capacity pairs of a pass, at most
   */
  async *write(tally: Tally, capacity: number): AsyncGenerator<WrittenPairs, void, undefined> {
    const work = this.#work
    for await (const [first, probes, { sum }] of this.#slices(0, this.#matches.probes, tally)) {
      const writer = this.#start(first, probes, tally)
      for (let begin = 0; begin < sum; begin += capacity) {
        const end = Math.min(begin + capacity, sum)
        const columns = { probe: work.words(end - begin), build: work.words(end - begin) }
        writer(work, { begin, end }, columns, this.#matched)
        yield { columns, count: end - begin }
      }
    }
  }

  /** Records what says where the pairs of a slice's probes go. */
  #start(first: number, probes: number, { largest }: Tally): PairWriter {
    const { primitives, expansion } = this.#parts
    const matches = this.#matches
    const { counts } = matches
    const { recorder } = this.#work
    const scratch = this.#scratch
    const isWhole = probes === matches.probes
    if (largest <= 1 && isWhole) {
      const [positions, total] = [scratch.words(probes), scratch.words(1)]
      primitives.compact(recorder, scratch, counts, probes, positions, { buffer: total, index: 0 })
      return expansion.single(matches, { positions, total })
    }
    const offsets = scratch.words(probes + 1)
    let own = counts
    if (!isWhole) {
      own = scratch.words(probes)
      recorder.copy(counts, first * 4, own, 0, probes * 4)
    }
    primitives.scan(recorder, scratch, own, offsets, probes, { buffer: offsets, index: probes })
    const slice: Slice = { first, probes, offsets }
    return largest > 1 && matches.rewrite ? matches.rewrite(slice) : expansion.runs(matches, slice)
  }

  /** Cuts probes into slices of fewer pairs than places can count, and leaves those without pairs out. */
  async *#slices(
    first: number,
    probes: number,
    tally: Tally,
  ): AsyncGenerator<readonly [first: number, probes: number, tally: Tally], void, undefined> {
    if (tally.sum === 0) return
    if (probes === 1 || tally.sum <= this.#parts.slicePairs) {
      yield [first, probes, tally]
      return
    }
    const half = Math.floor(probes / 2)
    const [front, back] = await this.#tally([
      { counts: this.#matches.counts, first, count: half },
      { counts: this.#matches.counts, first: first + half, count: probes - half },
    ])
    yield* this.#slices(first, half, front!)
    yield* this.#slices(first + half, probes - half, back!)
  }

  async #tally(columns: readonly Counts[]): Promise<readonly Tally[]> {
    const work = this.#work
    return talliesFrom(await work.read(this.#parts.tallies.record(work.recorder, this.#scratch, columns)))
  }
}
