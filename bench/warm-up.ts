import type { Device } from '../gpu/device/device.js'
import type { Primitives } from '../gpu/primitives/primitives.js'

/** How long a GPU is kept busy before it is measured, and words of the buffer that keeps it so. */
const MILLISECONDS = 800
const WORDS = 1 << 24

/** Kernels of a submission: two milliseconds of a fast one's. */
const KERNELS = 96

/**
 * Brings a GPU to the clock at which it works under load: one that was idle while the host made keys ready takes a few hundred
 * milliseconds to get there, and is up to six times slower until then. It must have no rest meanwhile, so two submissions are under way: after short ones
 * with pauses an H200 now and then stayed at half of its clock. CPUs need no such thing.
 */
export async function warmUp(device: Device, primitives: Primitives): Promise<void> {
  if (device.facts.software) return
  const end = performance.now() + MILLISECONDS
  let before = keepWarm(device, primitives)
  while (performance.now() < end) {
    const next = keepWarm(device, primitives)
    await before
    before = next
  }
  await before
}

/**
 * Keeps a GPU at that clock, if it is called before each of many measurements that leave the device idle for most of their time: within a
 * second of these it would be half as fast.
 */
export async function keepWarm(device: Device, primitives: Primitives): Promise<void> {
  if (device.facts.software) return
  const scratch = device.scratch()
  const buffer = scratch.words(WORDS)
  const recorder = device.record()
  for (let i = 0; i < KERNELS; i++) primitives.fill(recorder, buffer, WORDS, i)
  recorder.submit()
  await device.gpu.queue.onSubmittedWorkDone()
  scratch.release()
}
