import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import { GROUP_SIZE, type Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'

/** What a column of counts comes to. */
export interface Tally {
  readonly sum: number
  readonly largest: number
}

/** Workgroups that share a column, at most: enough for every core, and few that add to one word, which costs a CPU more than it gains. */
const MOST_GROUPS = { hardware: 1024, software: 4 }

/** Words of a tally on the device; `tally.wesl` has the same. */
const TALLY_WORDS = 3

/** Sums counts in 64 bits (`tally.wesl`). */
export class Tallies {
  readonly #device: Device
  readonly #kernel: Kernel

  private constructor(device: Device, kernel: Kernel) {
    this.#device = device
    this.#kernel = kernel
  }

  static async create(device: Device): Promise<Tallies> {
    const kernel = await device.kernel({
      module: 'relational/joins/tally',
      entryPoint: 'tally_counts',
      bindings: ['read', 'write'],
      params: 3,
    })
    return new Tallies(device, kernel)
  }

  /** Sums `count` words from number `first` on, submits everything recorded, and waits for the sum. */
  async submit(
    recorder: Recorder,
    scratch: Scratch,
    columns: readonly { readonly counts: GPUBuffer; readonly first?: number; readonly count: number }[],
  ): Promise<Tally[]> {
    const results = columns.map(({ counts, first = 0, count }) => {
      const tally = scratch.words(TALLY_WORDS)
      recorder.clear(tally, 0, TALLY_WORDS * 4)
      const most = this.#device.facts.software ? MOST_GROUPS.software : MOST_GROUPS.hardware
      const groups = Math.min(Math.ceil(count / GROUP_SIZE), most)
      const params = [first, count, groups * GROUP_SIZE]
      recorder.dispatchGroups(this.#kernel, [counts, tally], params, groups)
      return { buffer: tally, bytes: TALLY_WORDS * 4 }
    })
    const read = await this.#device.submitAndRead(recorder, results)
    return read.map((bytes) => {
      const [low, high, largest] = new Uint32Array(bytes.buffer, bytes.byteOffset, TALLY_WORDS)
      return { sum: high! * 2 ** 32 + low!, largest: largest! }
    })
  }
}
