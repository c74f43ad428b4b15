import type { Device } from '../../gpu/device/device.js'
import type { Recorder } from '../../gpu/device/recorder.js'
import type { Scratch } from '../../gpu/memory/scratch.js'
import { median } from '../report.js'
import type { Effort, Timing } from './subject.js'

const WARM_UP = 3

/** The middle of what `once` returns, which is called again and again; the first ones, with negative numbers, do not count. */
export async function repeated(
  { repeats, seconds }: Effort,
  once: (repeat: number) => Promise<number> | number,
): Promise<{ middle: number; repeats: number }> {
  const values: number[] = []
  const end = performance.now() + seconds * 1e3
  let enough = false
  for (let repeat = -WARM_UP; repeat < repeats && !(enough && performance.now() > end); repeat++) {
    const value = await once(repeat)
    // One that takes all the time there is has warmed up by itself.
    if (repeat >= 0 || performance.now() > end) {
      values.push(value)
      enough = true
    }
  }
  return { middle: median(values), repeats: values.length }
}

/**
 * What recorded work takes on the device, in microseconds: by the device's timestamps, or by the wall clock from its submission
 * until the device is done where there are none.
 */
export async function kernelTime(
  device: Device,
  effort: Effort,
  record: (recorder: Recorder, scratch: Scratch, repeat: number) => void,
): Promise<Timing> {
  const clock = device.createClock(2)
  try {
    const { middle, repeats } = await repeated(effort, async (repeat) => {
      const scratch = device.scratch()
      try {
        const recorder = device.record()
        if (clock !== undefined) recorder.stamp(clock, 0)
        record(recorder, scratch, Math.max(0, repeat))
        if (clock !== undefined) recorder.stamp(clock, 1)
        const start = performance.now()
        recorder.submit()
        if (clock !== undefined) return (await device.readClock(clock))[1]! / 1e3
        await device.gpu.queue.onSubmittedWorkDone()
        return (performance.now() - start) * 1e3
      } finally {
        scratch.release()
      }
    })
    device.check()
    return { microseconds: middle, repeats, clock: clock === undefined ? 'submission' : 'device' }
  } finally {
    clock?.destroy()
  }
}
