import type { Device } from '../../device/device.js'
import { WarmDevice } from '../../primitives/warm-device.js'
import type { QueryColumn } from '../query/query-column.js'
import type { QueryKernels } from '../query/query-kernels.js'
import type { CalibrationSize } from './calibrate.js'
import { SelectionTimer, type TimedSelection } from './selection-timer.js'

/** Rows of a selection that takes no time beside being launched. */
const FEW_ROWS = 64
/** What leaves words as they are. */
const SAME = { multiplier: 1, addend: 0 }

/** Columns and what is asked of them; conditions mean columns by their places. */
export interface Probed extends TimedSelection {
  readonly columns: readonly QueryColumn[]
}

/** A selection, and another whose time is no part of what is asked. */
export interface Compared {
  readonly whole: Probed
  readonly part?: Probed | undefined
  /** That it is made over; as many as there are unless given. */
  readonly rows?: number | undefined
}

/**
 * Times the same several times over and takes what is typical. All times are in nanoseconds. What is compared is run by turns on a warm device.
 */
export class RepeatedTimer {
  readonly #device: Device
  readonly #kernels: QueryKernels
  readonly #timer: SelectionTimer
  readonly #warm: WarmDevice
  readonly #size: CalibrationSize
  readonly #stop: AbortSignal | undefined

  /** @param stop ends what is being timed, with its reason */
  constructor(device: Device, kernels: QueryKernels, size: CalibrationSize, stop: AbortSignal | undefined) {
    this.#device = device
    this.#kernels = kernels
    this.#timer = new SelectionTimer(device, kernels)
    this.#warm = new WarmDevice(device, kernels.primitives)
    this.#size = size
    this.#stop = stop
  }

  /**
   * What selections take a row beyond what being launched takes, which is that of the first for all of them: they are to have the same kernels. Where one is
   * compared with another noise may make it negative.
   */
  async perRow(compared: readonly Compared[]): Promise<number[]> {
    const [{ whole: first, part: without }] = compared as [Compared]
    const [launched, ...taken] = await this.#byTurns([
      (repeat) => this.#beyond(first, without, FEW_ROWS, repeat),
      ...compared.map(({ whole, part, rows = this.#size.rows }) => (repeat: number) => {
        return this.#beyond(whole, part, rows, repeat)
      }),
    ])
    return compared.map(({ part, rows = this.#size.rows }, i) => {
      const all = taken[i]!
      return part === undefined
        ? Math.max(0, this.#difference(all, launched!)) / rows
        : median(all.map((each, repeat) => each - launched![repeat]!)) / rows
    })
  }

  /** What a selection of some rows takes beyond another. Noise may make it negative. */
  async beyond(whole: Probed, part: Probed, rows = FEW_ROWS): Promise<number> {
    const [taken] = await this.#byTurns([(repeat) => this.#beyond(whole, part, rows, repeat)])
    return median(taken!)
  }

  /** What a selection of few rows takes on the wall beside its kernels. */
  async waiting(probed: Probed): Promise<number> {
    const [taken] = await this.#byTurns([
      async () => {
        const { wall, kernels = 0 } = await this.#timer.time(probed.columns, FEW_ROWS, probed)
        return wall - kernels
      },
    ])
    return this.#typical(taken!)
  }

  /** What copying columns of one word takes, a word. */
  async copy(columns: readonly QueryColumn[]): Promise<number> {
    const { rows } = this.#size
    const scratch = this.#device.scratch()
    const to = scratch.words(rows)
    try {
      const [all, launched] = await this.#byTurns(
        [rows, FEW_ROWS].map((count) => (repeat: number) => {
          const { values } = columns[repeat % columns.length]!
          return this.#timer.timeKernel((recorder) => {
            this.#kernels.primitives.map(recorder, values, to, count, SAME)
          })
        }),
      )
      return Math.max(0, this.#difference(all!, launched!)) / rows
    } finally {
      scratch.release()
    }
  }

  async #beyond(whole: Probed, part: Probed | undefined, rows: number, repeat: number): Promise<number> {
    const taken = await this.#once(whole, rows, repeat)
    if (part === undefined) return taken
    return taken - (await this.#warm.run(() => this.#once(part, rows, repeat)))
  }

  /** One of several runs, over other columns each time, so that none finds its own in a cache. */
  async #once({ columns, ...selection }: Probed, rows: number, repeat: number): Promise<number> {
    const first = (repeat * selection.conditions.length) % columns.length
    const rotated = [...columns.slice(first), ...columns.slice(0, first)]
    const { kernels, wall } = await this.#timer.time(rotated, rows, selection)
    return kernels ?? wall
  }

  #difference(all: readonly number[], launched: readonly number[]): number {
    return this.#typical(all) - this.#typical(launched)
  }

  /** Where the CPU is the device, whatever else it does comes on top, and often. */
  #typical(taken: readonly number[]): number {
    return this.#device.facts.software ? Math.min(...taken) : median(taken)
  }

  #byTurns(each: readonly ((repeat: number) => Promise<number>)[]): Promise<number[][]> {
    return this.#warm.byTurns(each, this.#size.repeats, this.#stop)
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
