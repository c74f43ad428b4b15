import type { Device } from '../gpu/device/device.js'
import type { Primitives } from '../gpu/primitives/primitives.js'

/** How long a GPU is kept busy before it is measured, and words of the buffer that keeps it so. */
const MILLISECONDS = 600
const WORDS = 1 << 24

/** Kernels of a submission while a GPU warms up, and of one that only keeps it warm: two milliseconds of a fast one's. */
const WARMING = 16
const KEEPING = 96

/**
 * Brings a GPU to the clock at which it works under load: one that was idle while the host made keys ready takes a few hundred
 * milliseconds to get there, and is up to six times slower until then. CPUs need no such thing.
 */
export async function warmUp(device: Device, primitives: Primitives): Promise<void> {
  const end = performance.now() + MILLISECONDS
  do await keepBusy(device, primitives, WARMING)
  while (!device.facts.software && performance.now() < end)
}

/**
 * Keeps a GPU at that clock, if it is called before each of many measurements that leave the device idle for most of their time: within a
 * second of these it would be half as fast.
 */
export function keepWarm(device: Device, primitives: Primitives): Promise<void> {
  return keepBusy(device, primitives, KEEPING)
}

async function keepBusy(device: Device, primitives: Primitives, kernels: number): Promise<void> {
  if (device.facts.software) return
  const scratch = device.scratch()
  const buffer = scratch.words(WORDS)
  const recorder = device.record()
  for (let i = 0; i < kernels; i++) primitives.fill(recorder, buffer, WORDS, i)
  recorder.submit()
  await device.gpu.queue.onSubmittedWorkDone()
  scratch.release()
}
