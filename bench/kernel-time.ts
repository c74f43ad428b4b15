import type { Clock } from '../gpu/device/clock.js'
import type { Device } from '../gpu/device/device.js'
import type { Recorder } from '../gpu/device/recorder.js'
import type { Scratch } from '../gpu/memory/scratch.js'
import { median } from './report.js'

/** What a measurement takes: the middle of so many repeats after a warm-up, fewer once it has taken so long. */
export interface Effort {
  readonly repeats: number
  readonly seconds: number
}

/**
 * `device`: timestamps of the device around the kernels. `submission`: wall clock from the submission until the device is done, where
 * it has no timestamps. `host`: wall clock of a function of the host.
 */
export type ClockKind = 'device' | 'submission' | 'host'

/** What some work takes. */
export interface Timing {
  readonly microseconds: number
  readonly repeats: number
  readonly clock: ClockKind
}

const WARM_UP = 3

/** The middle of what `once` returns, which is called again and again; the first ones, with negative numbers, do not count. */
export async function repeated(
  effort: Effort,
  once: (repeat: number) => Promise<number> | number,
): Promise<{ middle: number; repeats: number }> {
  const [values] = await byTurns(effort, [once])
  return { middle: median(values!), repeats: values!.length }
}

/**
 * What each of several returns that take turns, repeat by repeat, so that whatever becomes of a device's clock falls on all of them alike.
 * The first repeats, with negative numbers, do not count. One that has had its time is called no more.
 */
export async function byTurns<T>(
  { repeats, seconds }: Effort,
  each: readonly ((repeat: number) => Promise<T> | T)[],
): Promise<T[][]> {
  const turns = each.map((once) => ({ once, values: [] as T[], spent: 0 }))
  for (let repeat = -WARM_UP; repeat < repeats; repeat++) {
    for (const turn of turns) {
      if (turn.values.length > 0 && turn.spent > seconds * 1e3) continue
      const start = performance.now()
      const value = await turn.once(repeat)
      turn.spent += performance.now() - start
      // One that takes all the time there is has warmed up by itself.
      if (repeat >= 0 || turn.spent > seconds * 1e3) turn.values.push(value)
    }
  }
  return turns.map(({ values }) => values)
}

/** Records the work that is timed. */
type RecordWork = (recorder: Recorder, scratch: Scratch) => void

/**
 * Takes what recorded work takes on the device, in microseconds: by the device's timestamps, or by the wall clock from its submission
 * until the device is done where there are none.
 */
export class KernelTimer {
  readonly #device: Device
  readonly #clock: Clock | undefined

  constructor(device: Device) {
    this.#device = device
    this.#clock = device.createClock(2)
  }

  get clock(): ClockKind {
    return this.#clock === undefined ? 'submission' : 'device'
  }

  async time(record: RecordWork): Promise<number> {
    const device = this.#device
    const clock = this.#clock
    const scratch = device.scratch()
    try {
      const recorder = device.record()
      if (clock !== undefined) recorder.stamp(clock, 0)
      record(recorder, scratch)
      if (clock !== undefined) recorder.stamp(clock, 1)
      const start = performance.now()
      recorder.submit()
      if (clock !== undefined) return (await device.readClock(clock))[1]! / 1e3
      await device.gpu.queue.onSubmittedWorkDone()
      return (performance.now() - start) * 1e3
    } finally {
      scratch.release()
    }
  }

  destroy(): void {
    this.#clock?.destroy()
  }
}

/** What recorded work takes, the middle of several repeats. */
export async function kernelTime(device: Device, effort: Effort, record: RecordWork): Promise<Timing> {
  const timer = new KernelTimer(device)
  try {
    const { middle, repeats } = await repeated(effort, () => timer.time(record))
    device.check()
    return { microseconds: middle, repeats, clock: timer.clock }
  } finally {
    timer.destroy()
  }
}
