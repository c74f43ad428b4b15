import type { Device } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Expansion, PairColumns } from './expand.js'
import type { JoinTuning } from './join-types.js'
import type { Matches, PairWriter } from './matches.js'
import type { Tallies, Tally } from './tally.js'

/** Pairs of a slice, at most, unless a request says otherwise: places of pairs are counted in 32 bits. */
const MOST_SLICE_PAIRS = 2 ** 32 - 1

/** What pairs are written with. */
export interface PairParts {
  readonly device: Device
  readonly primitives: Primitives
  readonly tallies: Tallies
  readonly expansion: Expansion
}

/** Writes the pairs that were counted, in as many passes as it takes (He §4.2). */
export class PairPasses {
  readonly #parts: PairParts
  readonly #matches: Matches
  readonly #tuning: JoinTuning
  readonly #marks: GPUBuffer | undefined

  /** @param marks a bit for each build row, to be set for those that are written; none are marked without it */
  constructor(parts: PairParts, matches: Matches, tuning: JoinTuning, marks: GPUBuffer | undefined) {
    this.#parts = parts
    this.#matches = matches
    this.#tuning = tuning
    this.#marks = marks
  }

  /**
   * Submits a pass, and the next one when it is asked for.
   * @param memory whose bytes those of the passes count with
   * @param capacity pairs that the columns have room for
   * @returns of each pass its number of pairs
   */
  async *write(
    memory: Scratch,
    output: PairColumns,
    capacity: number,
  ): AsyncGenerator<number, void, undefined> {
    const { probes: all, tally } = this.#matches
    for await (const [first, probes, { sum }] of this.#slices(memory, 0, all, tally)) {
      const scratch = memory.part()
      const starting = memory.record()
      try {
        const writer = await this.#start(starting, scratch, first, probes)
        for (let begin = 0; begin < sum; begin += capacity) {
          const end = Math.min(begin + capacity, sum)
          const recorder = begin === 0 ? starting : memory.record()
          const own = memory.part()
          try {
            writer(recorder, own, { begin, end }, output, this.#marks)
            recorder.submit()
          } finally {
            own.release()
          }
          yield end - begin
        }
      } finally {
        scratch.release()
      }
    }
  }

  /** Records what says where the pairs of a slice's probes go. */
  async #start(recorder: Recorder, scratch: Scratch, first: number, probes: number): Promise<PairWriter> {
    const { primitives, expansion } = this.#parts
    const { counts, probes: all, rewrite, tally } = this.#matches
    const mark = this.#marks !== undefined
    if (rewrite === undefined && tally.largest <= 1 && probes === all && !this.#tuning.scansSingle) {
      const positions = scratch.words(probes)
      primitives.compact(recorder, scratch, counts, probes, positions, { buffer: scratch.words(1), index: 0 })
      return expansion.single(this.#matches, positions, mark)
    }
    const offsets = scratch.words(probes + 1)
    let own = counts
    if (probes < all) {
      own = scratch.words(probes)
      recorder.copy(counts, first * 4, own, 0, probes * 4)
    }
    primitives.scan(recorder, scratch, own, offsets, probes, { buffer: offsets, index: probes })
    const slice = { first, probes, offsets }
    return rewrite?.(slice) ?? expansion.runs(this.#matches, slice, mark)
  }

  /** Cuts probes into slices of fewer than 2^32 pairs, and leaves those without pairs out. */
  async *#slices(
    memory: Scratch,
    first: number,
    probes: number,
    tally: Tally,
  ): AsyncGenerator<readonly [first: number, probes: number, tally: Tally], void, undefined> {
    if (tally.sum === 0) return
    if (probes === 1 || tally.sum <= (this.#tuning.slicePairs ?? MOST_SLICE_PAIRS)) {
      yield [first, probes, tally]
      return
    }
    const half = Math.floor(probes / 2)
    const [front, back] = await this.#halves(memory, first, half, probes)
    yield* this.#slices(memory, first, half, front!)
    yield* this.#slices(memory, first + half, probes - half, back!)
  }

  /** The tallies of the first probes of a slice, up to `half`, and of its others. */
  async #halves(memory: Scratch, first: number, half: number, probes: number): Promise<readonly Tally[]> {
    const { tallies } = this.#parts
    const { counts } = this.#matches
    const scratch = memory.part()
    try {
      return await tallies.submit(scratch.record(), scratch, [
        { counts, first, count: half },
        { counts, first: first + half, count: probes - half },
      ])
    } finally {
      scratch.release()
    }
  }
}
