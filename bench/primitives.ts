import type { AdapterChoice } from '../gpu/device/adapter.js'
import { Device } from '../gpu/device/device.js'
import type { Recorder } from '../gpu/device/recorder.js'
import type { Scratch } from '../gpu/memory/scratch.js'
import { Primitives } from '../gpu/primitives/primitives.js'
import { measureApart, measureForParent } from './apart.js'
import { kernelTime } from './kernel-time.js'
import { scattered, scatteredKeys } from './keys.js'
import { median, type Row } from './report.js'

/** Logarithms of the lengths that are measured. */
const LOGARITHMS = { hardware: [10, 12, 14, 16, 18, 20, 22, 24, 26], software: [8, 12, 16, 20] }

/** Repetitions of which the median counts, after one that warms up. */
export const REPEATS = 7
const EFFORT = { repeats: REPEATS, seconds: 5 }

/** What is measured of a primitive. */
interface Step {
  /** Bytes of an element that goes in and of one that comes out, each counted once. */
  readonly bytes: number
  readonly record: (recorder: Recorder, scratch: Scratch) => void
}

/**
 * Times each primitive on random words that lie on the device: the device's time, without the host's part (see `kernelTime`).
 * `GB/s` counts what goes in and what comes out once each; `of copy` is its share of what copying as many words as the
 * primitive has elements reaches in the same run, by the device's own copy or by a kernel, whichever is faster. Each length is
 * measured in a process of its own.
 */
export async function benchPrimitives(adapter: AdapterChoice, software: boolean): Promise<Row[]> {
  const rows: Row[] = []
  for (const logarithm of logarithmsFor(software)) {
    rows.push(...((await measureApart<Measurement, Row[]>(import.meta.url, { adapter, logarithm })) ?? []))
  }
  return rows
}

function logarithmsFor(software: boolean): readonly number[] {
  return software ? LOGARITHMS.software : LOGARITHMS.hardware
}

interface Measurement {
  readonly adapter: AdapterChoice
  readonly logarithm: number
}

/** One length, in the process made for it. */
async function measure({ adapter, logarithm }: Measurement): Promise<Row[]> {
  const device = await Device.open(adapter)
  const primitives = await Primitives.create(device)
  const rows = await benchLength(device, primitives, logarithm)
  if (logarithm === logarithmsFor(device.facts.software)[0])
    rows.unshift(await benchDispatch(device, primitives))
  device.destroy()
  return rows
}

/** What of every figure is due to taking the time and to starting a kernel. */
async function benchDispatch(device: Device, primitives: Primitives): Promise<Row> {
  const output = await device.allocate(4, 'output')
  const { microseconds } = await kernelTime(device, EFFORT, (r) => primitives.fill(r, output, 1, 0))
  output.destroy()
  return { name: 'one dispatch', figures: { µs: microseconds } }
}

async function benchLength(device: Device, primitives: Primitives, logarithm: number): Promise<Row[]> {
  const count = 2 ** logarithm
  const column = async (bytes: Uint8Array, label: string) => {
    const buffer = await device.allocate(bytes.byteLength, label)
    device.upload(buffer, bytes)
    return buffer
  }
  const keys = await column(scatteredKeys(2, 0, count), 'keys')
  const order = await column(randomOrder(count), 'a random order')
  const flags = await column(randomFlags(count), 'flags')
  const output = await device.allocate(count * 4, 'output')
  const total = { buffer: await device.allocate(4, 'total'), index: 0 }
  const copies: Readonly<Record<string, Step>> = {
    copy: { bytes: 8, record: (r) => r.copy(keys, 0, output, 0, count * 4) },
    map: { bytes: 8, record: (r) => primitives.map(r, keys, output, count, { multiplier: 3, addend: 1 }) },
  }
  const steps: Readonly<Record<string, Step>> = {
    gather: { bytes: 12, record: (r) => primitives.gather(r, keys, order, output, count, 1) },
    scatter: { bytes: 12, record: (r) => primitives.scatter(r, keys, order, output, count, 1) },
    scan: { bytes: 8, record: (r, s) => primitives.scan(r, s, keys, output, count, total) },
    'scan in place': { bytes: 8, record: (r, s) => primitives.scan(r, s, output, output, count, total) },
    'compact, all set': { bytes: 8, record: (r, s) => primitives.compact(r, s, keys, count, output, total) },
    'compact, half set': {
      bytes: 6,
      record: (r, s) => primitives.compact(r, s, flags, count, output, total),
    },
    'sort u32 → u32': { bytes: 16, record: (r, s) => primitives.sort(r, s, keys, order, count, 1) },
    'sort u64 → u32': { bytes: 24, record: (r, s) => primitives.sort(r, s, keys, order, count, 2) },
  }
  const rows: Row[] = []
  let copied = 0
  for (const [name, { bytes, record }] of Object.entries({ ...copies, ...steps })) {
    const { microseconds } = await kernelTime(device, EFFORT, record)
    const throughput = (bytes * count) / microseconds / 1e3
    if (name in copies) copied = Math.max(copied, throughput)
    rows.push({
      name: `${name}, 2^${logarithm}`,
      figures: {
        µs: microseconds,
        'M/s': count / microseconds,
        'GB/s': throughput,
        'of copy': throughput / copied,
      },
    })
  }
  for (const buffer of [keys, order, flags, output, total.buffer]) buffer.destroy()
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

/** Flags of which half are set, as bytes. */
function randomFlags(count: number): Uint8Array {
  const words = new Uint32Array(count)
  for (let i = 0; i < count; i++) words[i] = scattered(i) & 1
  return new Uint8Array(words.buffer)
}

/** The numbers below a power of two in a scattered order, as bytes. */
export function randomOrder(count: number): Uint8Array {
  const words = new Uint32Array(count)
  for (let i = 0; i < count; i++) words[i] = Math.imul(i ^ (i >>> 7), 0x9e3779b1) & (count - 1)
  return new Uint8Array(words.buffer)
}

await measureForParent(import.meta.url, measure)
