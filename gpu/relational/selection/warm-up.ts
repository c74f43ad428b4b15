import type { Device } from '../../device/device.js'
import { RandomWords } from './random-words.js'

/** How long a GPU is kept busy before it is measured: one that was idle gets to its clock only then. */
const WARM_UP_MS = 600
/** Kernels between which others get their turn. */
const TOGETHER = 16

/**
 * Keeps a GPU busy until it works as fast as under load; a CPU needs none of it.
 * @param words that each kernel writes
 * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
 */
export async function warmUp(device: Device, words: number, stop: AbortSignal | undefined): Promise<void> {
  if (device.facts.software) return
  const random = await RandomWords.create(device)
  const buffer = await device.allocate(4 * words, 'warming up')
  try {
    const end = performance.now() + WARM_UP_MS
    while (performance.now() < end && !stop?.aborted) {
      const recorder = device.record()
      for (let i = 0; i < TOGETHER; i++) random.record(recorder, buffer, words, i)
      recorder.submit()
      await device.workDone()
    }
  } finally {
    buffer.destroy()
  }
}
