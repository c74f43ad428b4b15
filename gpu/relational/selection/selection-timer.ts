import type { Device } from '../../device/device.js'
import type { KernelTime } from '../../device/profiler.js'
import type { Recorder } from '../../device/recorder.js'
import { DeviceWork } from '../query/device-work.js'
import type { QueryColumn } from '../query/query-column.js'
import type { QueryKernels } from '../query/query-kernels.js'
import type { RunOptions } from './selection-run.js'
import type { Condition, SelectionOutput, SelectionPlan } from './selection-types.js'

/** A selection that is to be timed. */
export interface TimedSelection {
  readonly conditions: readonly Condition[]
  readonly plan: SelectionPlan
  readonly output: SelectionOutput
  readonly options?: RunOptions | undefined
}

/** What one run took, in nanoseconds, and how many rows it selected. */
export interface SelectionTime {
  /** All of its kernels by the device's timestamps; undefined where it has none. */
  readonly kernels: number | undefined
  /** From the call until the count is known and the rest of the output on the device. */
  readonly wall: number
  readonly count: number
}

/** Runs selections and says what they took; what others do on the device meanwhile is not counted. */
export class SelectionTimer {
  readonly #device: Device
  readonly #kernels: QueryKernels

  constructor(device: Device, kernels: QueryKernels) {
    this.#device = device
    this.#kernels = kernels
  }

  /** What a kernel takes, in nanoseconds: by the device's timestamps, or on the wall where it has none. */
  async timeKernel(record: (recorder: Recorder) => void): Promise<number> {
    const { kernels, wall } = await this.#time(async ({ recorder }) => record(recorder), true)
    return kernels ?? wall
  }

  /**
   * Runs a selection once; its result is dropped.
   * @throws WarpdexError as `Selections.run`
   */
  async time(
    columns: readonly QueryColumn[],
    rows: number,
    { conditions, plan, output, options }: TimedSelection,
  ): Promise<SelectionTime> {
    const { selections } = this.#kernels
    // A count is waited for; what is written after it is not.
    const { result, ...time } = await this.#time(
      (work) => selections.run(work, columns, rows, conditions, plan, output, options),
      output.kind !== 'count',
    )
    return { ...time, count: result.count }
  }

  /** @param isLeft whether the device has something to do still when the work is recorded */
  async #time<T>(record: (work: DeviceWork) => Promise<T>, isLeft: boolean) {
    const profiler = this.#device.createProfiler()
    const scratch = this.#device.scratch()
    try {
      const work = new DeviceWork(this.#device, this.#kernels, scratch, profiler)
      const begin = performance.now()
      const result = await record(work)
      work.submit()
      if (isLeft) await this.#device.workDone()
      const wall = (performance.now() - begin) * 1e6
      return { result, kernels: sumOf(await profiler?.read()), wall }
    } finally {
      scratch.release()
      profiler?.destroy()
    }
  }
}

/** In nanoseconds. */
function sumOf(times: readonly KernelTime[] | undefined): number | undefined {
  return times?.reduce((sum, { microseconds }) => sum + microseconds * 1e3, 0)
}
