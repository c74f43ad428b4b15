import type { Device } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { QueryColumn } from '../query/query-column.js'
import type { QueryKernels } from '../query/query-kernels.js'
import type { CalibrationSize } from './calibrate.js'
import { SelectionTimer, type TimedSelection } from './selection-timer.js'
import type { Selections } from './selections.js'

/** Runs before those that count: kernels are compiled in the first. */
const WARM_UP = 2
/** Rows of a selection that takes no time beside being launched. */
export const FEW_ROWS = 64

/** Columns and what is asked of them; conditions mean columns by their places. */
export interface Probed extends TimedSelection {
  readonly columns: readonly QueryColumn[]
}

/** Times the same several times over and takes what is typical. All times are in nanoseconds. */
export class RepeatedTimer {
  readonly #isSoftware: boolean
  readonly #timer: SelectionTimer
  readonly #size: CalibrationSize
  readonly #stop: AbortSignal | undefined

  /** @param stop ends what is being timed, with its reason */
  constructor(
    device: Device,
    kernels: QueryKernels,
    selections: Selections,
    size: CalibrationSize,
    stop: AbortSignal | undefined,
  ) {
    this.#isSoftware = device.facts.software
    this.#timer = new SelectionTimer(device, kernels, selections)
    this.#size = size
    this.#stop = stop
  }

  /** What a selection takes a row, without what being launched takes. */
  async perRow(probed: Probed, rows = this.#size.rows): Promise<number> {
    const all = await this.#typical((repeat) => this.#once(probed, rows, repeat))
    const launched = await this.#typical((repeat) => this.#once(probed, FEW_ROWS, repeat))
    return Math.max(0, all - launched) / rows
  }

  /**
   * What a selection takes a row beyond another, each without what being launched takes. Noise may make it negative. All are run in every
   * repeat, since what else the device does falls on them alike then.
   */
  async perRowBeyond(whole: Probed, part: Probed): Promise<number> {
    const { rows } = this.#size
    const differences = await this.#repeat(async (repeat) => {
      const beyond = await this.#difference(whole, part, rows, repeat)
      return beyond - (await this.#difference(whole, part, FEW_ROWS, repeat))
    })
    return median(differences) / rows
  }

  /** What a selection of few rows takes beyond another. Noise may make it negative. */
  async launchBeyond(whole: Probed, part: Probed): Promise<number> {
    return median(await this.#repeat((repeat) => this.#difference(whole, part, FEW_ROWS, repeat)))
  }

  /** What a selection of few rows takes on the wall beside its kernels. */
  waiting(probed: Probed): Promise<number> {
    return this.#typical(async () => {
      const { wall, kernels = 0 } = await this.#timer.time(probed.columns, FEW_ROWS, probed)
      return wall - kernels
    })
  }

  /** What a kernel takes. */
  kernel(record: (recorder: Recorder, repeat: number) => void): Promise<number> {
    return this.#typical((repeat) => this.#timer.timeKernel((recorder) => record(recorder, repeat)))
  }

  async #difference(whole: Probed, part: Probed, rows: number, repeat: number): Promise<number> {
    const taken = await this.#once(whole, rows, repeat)
    return taken - (await this.#once(part, rows, repeat))
  }

  /** One of several runs, over other columns each time, so that none finds its own in a cache. */
  async #once({ columns, ...selection }: Probed, rows: number, repeat: number): Promise<number> {
    const first = (repeat * selection.conditions.length) % columns.length
    const rotated = [...columns.slice(first), ...columns.slice(0, first)]
    const { kernels, wall } = await this.#timer.time(rotated, rows, selection)
    return kernels ?? wall
  }

  /** Where the CPU is the device, whatever else it does comes on top, and often. */
  async #typical(once: (repeat: number) => Promise<number>): Promise<number> {
    const taken = await this.#repeat(once)
    return this.#isSoftware ? Math.min(...taken) : median(taken)
  }

  async #repeat(once: (repeat: number) => Promise<number>): Promise<number[]> {
    const taken: number[] = []
    for (let repeat = 0; repeat < WARM_UP + this.#size.repeats; repeat++) {
      this.#stop?.throwIfAborted()
      const nanoseconds = await once(repeat)
      if (repeat >= WARM_UP) taken.push(nanoseconds)
    }
    return taken
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
