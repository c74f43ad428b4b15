import type { Device } from '../gpu/device/device.js'
import type { Recorder } from '../gpu/device/recorder.js'
import type { Scratch } from '../gpu/memory/scratch.js'
import { Primitives } from '../gpu/primitives/primitives.js'
import { scatteredKeys } from './keys.js'
import { median, type Row } from './report.js'

/** Logarithms of the lengths that are measured. */
const LOGARITHMS = { hardware: [12, 16, 20, 24, 26], software: [8, 12, 16, 20] }

/** Repetitions of which the median counts, after one that warms up. */
export const REPEATS = 7

/**
 * Times each primitive on random words that lie on the device: wall clock from submission until the device is idle, so that
 * short columns show the cost of a submission. `of copy` is the time of copying as many words on the device, over the
 * primitive's.
 */
export async function benchPrimitives(device: Device): Promise<Row[]> {
  const primitives = await Primitives.create(device)
  const rows: Row[] = []
  for (const logarithm of device.facts.software ? LOGARITHMS.software : LOGARITHMS.hardware) {
    rows.push(...(await benchLength(device, primitives, logarithm)))
  }
  return rows
}

async function benchLength(device: Device, primitives: Primitives, logarithm: number): Promise<Row[]> {
  const count = 2 ** logarithm
  const keys = await device.allocate(count * 8, 'keys')
  device.upload(keys, scatteredKeys(2, 0, count))
  const order = await device.allocate(count * 4, 'a random order')
  device.upload(order, randomOrder(count))
  const output = await device.allocate(count * 4, 'output')
  const total = { buffer: await device.allocate(4, 'total'), index: 0 }

  const copySeconds = await seconds(device, (r) => r.copy(keys, 0, output, 0, count * 4))
  const steps: Readonly<Record<string, (recorder: Recorder, scratch: Scratch) => void>> = {
    map: (r) => primitives.map(r, keys, output, count, { multiplier: 3, addend: 1 }),
    gather: (r) => primitives.gather(r, keys, order, output, count, 1),
    scatter: (r) => primitives.scatter(r, keys, order, output, count, 1),
    scan: (r, s) => primitives.scan(r, s, keys, output, count, total),
    'scan in place': (r, s) => primitives.scan(r, s, output, output, count, total),
    compact: (r, s) => primitives.compact(r, s, keys, count, output, total),
    'sort u32 → u32': (r, s) => primitives.sort(r, s, keys, order, count, 1),
    'sort u64 → u32': (r, s) => primitives.sort(r, s, keys, order, count, 2),
  }
  const rows: Row[] = []
  for (const [name, record] of Object.entries(steps)) {
    const taken = await seconds(device, record)
    rows.push({
      name: `${name}, 2^${logarithm}`,
      figures: { ms: taken * 1e3, 'M/s': count / taken / 1e6, 'of copy': copySeconds / taken },
    })
  }
  for (const buffer of [keys, order, output, total.buffer]) buffer.destroy()
  return rows
}

/** Seconds from the submission of what is recorded until the device is idle. */
export async function seconds(
  device: Device,
  record: (recorder: Recorder, scratch: Scratch) => void,
): Promise<number> {
  const taken: number[] = []
  for (let repeat = 0; repeat <= REPEATS; repeat++) {
    const scratch = device.scratch()
    const recorder = device.record()
    record(recorder, scratch)
    const start = performance.now()
    recorder.submit()
    await device.gpu.queue.onSubmittedWorkDone()
    if (repeat > 0) taken.push((performance.now() - start) / 1e3)
    scratch.release()
  }
  device.check()
  return median(taken)
}

/** The numbers below a power of two in a scattered order, as bytes. */
export function randomOrder(count: number): Uint8Array {
  const words = new Uint32Array(count)
  for (let i = 0; i < count; i++) words[i] = Math.imul(i ^ (i >>> 7), 0x9e3779b1) & (count - 1)
  return new Uint8Array(words.buffer)
}
