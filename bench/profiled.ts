import type { Device } from '../gpu/device/device.js'
import type { KernelTime } from '../gpu/device/profiler.js'

/**
 * Runs `work` with every dispatch that it records and submits timed by the device; nothing else may be recorded meanwhile.
 * @returns what each kernel took; undefined where the adapter has no timestamps
 */
export async function profiled(device: Device, work: () => Promise<void>): Promise<KernelTime[] | undefined> {
  const profiler = device.createProfiler()
  device.profiler = profiler
  try {
    await work()
    return await profiler?.read()
  } finally {
    device.profiler = undefined
    profiler?.destroy()
  }
}
