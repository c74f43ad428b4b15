import type { Device } from '../../../gpu/device/device.js'
import type { Primitives } from '../../../gpu/primitives/primitives.js'
import { byTurns, type Effort, KernelTimer } from '../../kernel-time.js'
import { profiled } from '../../profiled.js'
import { median, type Row, spreadOf } from '../../report.js'
import { keepWarm } from '../../warm-up.js'

/** What measurements are taken with. */
export interface Setting {
  readonly device: Device
  readonly primitives: Primitives
  readonly effort: Effort
}

/** Something that is measured. */
export interface Measured {
  /** Of tuples that go in and come out, each counted once. */
  readonly bytes: number
  /** Microseconds of the device, of one run. */
  readonly time: (timer: KernelTimer) => Promise<number>
}

/**
 * Measures something in turns with copies of as many bytes, by the device's own copy and by a kernel, the faster of which counts. So whatever becomes of the
 * device's clock falls on all of them alike.
 */
export async function besideCopy(setting: Setting, { bytes, time }: Measured): Promise<Row['figures']> {
  const { times, copyRate } = await withCopies(setting, bytes, time)
  const microseconds = median(times)
  const rate = bytes / microseconds / 1e3
  return { ...spreadOf('µs', times), 'GB/s': rate, '% of copy': (100 * rate) / copyRate }
}

/** Gigabytes a second of a copy that reads and writes `bytes` bytes in all. */
export async function copyRate(setting: Setting, bytes: number): Promise<number> {
  return (await withCopies(setting, bytes, async () => 0)).copyRate
}

async function withCopies(
  { device, primitives, effort }: Setting,
  bytes: number,
  time: Measured['time'],
): Promise<{ readonly times: number[]; readonly copyRate: number }> {
  const words = 4 * Math.ceil(Math.max(bytes, 64) / 8 / 4)
  const scratch = device.scratch()
  const timer = new KernelTimer(device)
  try {
    const [from, to] = [scratch.words(words), scratch.words(words)]
    const same = { multiplier: 1, addend: 0 }
    const turns = [
      () => time(timer),
      () => timer.time((recorder) => recorder.copy(from, 0, to, 0, words * 4)),
      () => timer.time((recorder) => primitives.map(recorder, from, to, words, same)),
    ].map((turn) => async () => {
      await keepWarm(device, primitives)
      return turn()
    })
    const [times, ...copies] = await byTurns(effort, turns)
    device.check()
    return { times: times!, copyRate: (8 * words) / Math.min(...copies.map(median)) / 1e3 }
  } finally {
    timer.destroy()
    scratch.release()
  }
}

/** Runs of which the kernels' times are the mean. */
const PROFILED = 5

/** What each kernel takes by itself, of something that is submitted when it settles. */
export async function kernelRows(device: Device, name: string, run: () => Promise<unknown>): Promise<Row[]> {
  const kernels = await profiled(device, async () => {
    for (let repeat = 0; repeat < PROFILED; repeat++) await run()
    await device.workDone()
  })
  return (kernels ?? []).map(({ kernel, dispatches, microseconds }) => ({
    name: `${name}: ${kernel}`,
    figures: { dispatches: dispatches / PROFILED, 'µs alone': microseconds / PROFILED },
  }))
}
