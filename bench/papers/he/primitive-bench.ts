import type { Device } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import type { Primitives } from '../../../gpu/primitives/primitives.js'
import { byTurns, KernelTimer } from '../../kernel-time.js'
import { runWarm } from '../../warm-up.js'

/** What He's figures of primitives (§5.3) are measured with. */
export interface PrimitiveBench {
  readonly device: Device
  readonly primitives: Primitives
  /** Logarithm of the words of the largest column. */
  readonly logarithm: number
  readonly quick: boolean
}

/** Work whose result is known. */
export interface CheckedWork {
  readonly name: string
  /** @returns the buffer with the result */
  readonly record: (recorder: Recorder, scratch: Scratch) => DeviceMemory
  /** Throws unless these words are right; they are as many as `words`. */
  readonly check: (found: Uint32Array) => void
  readonly words: number
  /** Where the result lies if that is always the same buffer, which is cleared before it is looked at: others may have left theirs. */
  readonly output?: DeviceMemory
}

const EFFORT = { full: { repeats: 11, seconds: 2 }, quick: { repeats: 3, seconds: 0.1 } }

/**
 * Microseconds of every run of works on the device, by `KernelTimer`. Each result is looked at first; then the works take turns on a warm
 * device.
 */
export async function checkedTimes(
  { device, primitives, quick }: Pick<PrimitiveBench, 'device' | 'primitives' | 'quick'>,
  works: readonly CheckedWork[],
): Promise<number[][]> {
  for (const work of works) {
    const scratch = device.scratch()
    const recorder = device.record()
    if (work.output !== undefined) recorder.clear(work.output)
    const result = work.record(recorder, scratch)
    recorder.submit()
    work.check(await device.readWords(result, work.words))
    scratch.release()
  }
  const timer = new KernelTimer(device)
  try {
    const turns = works.map(({ record }) => () => {
      const once = () => timer.time((recorder, scratch) => void record(recorder, scratch))
      return runWarm(device, primitives, once)
    })
    return await byTurns(EFFORT[quick ? 'quick' : 'full'], turns)
  } finally {
    timer.destroy()
    device.check()
  }
}

/** A check that a result is these words. */
export function isExactly(name: string, wanted: Uint32Array): (found: Uint32Array) => void {
  return (found) => {
    const wrong = wanted.findIndex((word, i) => word !== found[i])
    if (wrong >= 0) throw new Error(`${name}: word ${wrong} is ${found[wrong]} instead of ${wanted[wrong]}`)
  }
}

/** A scratch buffer with these words. */
export function uploadWords(device: Device, scratch: Scratch, words: Uint32Array): DeviceMemory {
  const buffer = scratch.words(words.length)
  device.upload(buffer, new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
  return buffer
}

/** Gigabytes a second. */
export function rate(bytes: number, microseconds: number): number {
  return bytes / microseconds / 1e3
}
