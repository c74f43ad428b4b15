import type { Device } from '../gpu/device/device.js'
import type { Primitives } from '../gpu/primitives/primitives.js'

/** How long a GPU is kept busy before it is measured, and words of the buffer that keeps it so. */
const MILLISECONDS = 600
const WORDS = 1 << 24

/**
 * Brings a GPU to the clock at which it works under load: one that was idle while the host made keys ready takes a few hundred
 * milliseconds to get there, and is up to six times slower until then. CPUs need no such thing.
 */
export async function warmUp(device: Device, primitives: Primitives): Promise<void> {
  if (device.facts.software) return
  const scratch = device.scratch()
  const buffer = scratch.words(WORDS)
  const end = performance.now() + MILLISECONDS
  while (performance.now() < end) {
    const recorder = device.record()
    for (let i = 0; i < 16; i++) primitives.fill(recorder, buffer, WORDS, i)
    recorder.submit()
    await device.gpu.queue.onSubmittedWorkDone()
  }
  scratch.release()
}
