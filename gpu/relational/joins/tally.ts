import type { Device, Kernels } from '../../device/device.js'
import { GROUP_SIZE, type Recorder } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { DeviceWork } from '../query/device-work.js'

/** What a column of counts comes to. */
export interface Tally {
  readonly sum: number
  readonly largest: number
}

/** Words of a column, all of them unless said otherwise. */
export interface Counts {
  readonly counts: DeviceMemory
  readonly first?: number
  readonly count: number
}

/** Workgroups that share a column, at most: enough for every core, and few that add to one word, which costs a CPU more than it gains. */
const MOST_GROUPS = { hardware: 1024, software: 4 }

/** Words of a tally on the device; `tally.wesl` has the same. */
const TALLY_WORDS = 3

/** Sums counts in 64 bits (`tally.wesl`). */
export class Tallies {
  readonly #mostGroups: number
  readonly #kernels: Kernels<'tally_counts'>

  constructor(device: Device) {
    this.#mostGroups = device.facts.software ? MOST_GROUPS.software : MOST_GROUPS.hardware
    this.#kernels = device.kernels('relational/joins/tally', ['tally_counts'])
  }

  /** Waits for the tally of each column. */
  async read(work: DeviceWork, scratch: Scratch, columns: readonly Counts[]): Promise<readonly Tally[]> {
    return talliesFrom(await work.read(this.record(work.recorder, scratch, columns)))
  }

  /** @returns the words of each column's tally, for `talliesFrom` when they were read */
  record(recorder: Recorder, scratch: Scratch, columns: readonly Counts[]): DeviceWord[] {
    return columns.flatMap(({ counts, first = 0, count }) => {
      const buffer = scratch.words(TALLY_WORDS)
      recorder.clear(buffer, 0, TALLY_WORDS * 4)
      const groups = Math.min(Math.ceil(count / GROUP_SIZE), this.#mostGroups)
      const params = { first, count, threads: groups * GROUP_SIZE }
      recorder.dispatchGroups(this.#kernels.tally_counts, { counts, tally: buffer }, params, groups)
      return Array.from({ length: TALLY_WORDS }, (_, index) => ({ buffer, index }))
    })
  }
}

/** The tallies whose words were read. */
export function talliesFrom(words: readonly number[]): Tally[] {
  return Array.from({ length: words.length / TALLY_WORDS }, (_, i) => {
    const [low, high, largest] = words.slice(TALLY_WORDS * i, TALLY_WORDS * (i + 1))
    return { sum: high! * 2 ** 32 + low!, largest: largest! }
  })
}
