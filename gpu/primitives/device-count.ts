import type { Device } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { DeviceMemory } from '../memory/page-run.js'
import type { Scratch } from '../memory/scratch.js'

/** One 32-bit word of a buffer. */
export interface DeviceWord {
  readonly buffer: DeviceMemory
  /** In words from the buffer's start. */
  readonly index: number
}

/** A word that bounds nothing, for kernels that take the number of their elements from the device when nobody gives it. */
export async function unboundedCount(device: Device): Promise<DeviceWord> {
  const buffer = await device.allocate(4, 'an absent device count')
  device.upload(buffer, Uint8Array.of(0xff, 0xff, 0xff, 0xff))
  return { buffer, index: 0 }
}

/** The same word in a buffer that one kernel can read while it writes `written`. */
export function readableBeside(
  recorder: Recorder,
  scratch: Scratch,
  word: DeviceWord,
  written: DeviceMemory | undefined,
): DeviceWord {
  if (word.buffer !== written) return word
  const buffer = scratch.words(1)
  recorder.copy(word.buffer, word.index * 4, buffer, 0, 4)
  return { buffer, index: 0 }
}
