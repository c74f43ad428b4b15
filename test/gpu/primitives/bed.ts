import fc from 'fast-check'
import root, { type Test } from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import { Primitives, type Strategy } from '../../../gpu/primitives/primitives.js'
import { suitsSubgroups } from '../../../gpu/primitives/strategy.js'
import { seedOfRun } from '../../random.js'
import { openDevice } from '../open-device.js'

/** What a primitive is recorded with. */
export interface Bed {
  readonly device: Device
  readonly primitives: Primitives
  readonly recorder: Recorder
  readonly scratch: Scratch
  /** A buffer that begins with these words. */
  upload(words: Uint32Array): DeviceMemory
}

/** Columns that a test reads: buffers and their lengths in words. */
export type Outputs = readonly (readonly [buffer: DeviceMemory, words: number])[]

/** Records work, submits it and reads what it wrote. */
export type Run = (record: (bed: Bed) => Outputs | Promise<Outputs>) => Promise<Uint32Array[]>

/** One device and its primitives for all tests of a file, made when they are first asked for. */
let opened: Promise<Device> | undefined
const made = new Map<Strategy, Promise<Primitives>>()

function primitivesOf(device: Device, strategy: Strategy): Promise<Primitives> {
  const primitives = made.get(strategy) ?? Primitives.create(device, strategy)
  made.set(strategy, primitives)
  return primitives
}

/** For what has the same kernels whatever the strategy. */
export const ONE_STRATEGY: readonly Strategy[] = ['serial']

/**
 * Runs a test with the kernels for GPUs, of both kinds, and with those for CPUs, whatever the device is. The body learns whether
 * it is a software adapter, where tiles of the kernels for subgroups are short.
 */
export async function withEachStrategy(
  t: Test,
  body: (t: Test, run: Run, strategy: Strategy, software: boolean) => Promise<void>,
  strategies: readonly Strategy[] = ['subgroups', 'cooperative', 'serial'],
): Promise<void> {
  opened ??= openDevice(root)
  const device = await opened
  for (const strategy of strategies) {
    if (strategy === 'subgroups' && !suitsSubgroups(device)) {
      t.comment('the adapter has no subgroups of one size')
      continue
    }
    const primitives = await primitivesOf(device, strategy)
    await t.test(strategy, (t) =>
      body(t, (record) => run(device, primitives, record), strategy, device.facts.software),
    )
  }
}

/** As `withEachStrategy`, for primitives that have one form of kernels for all GPUs and one for CPUs. */
export function withBothForms(t: Test, body: (t: Test, run: Run) => Promise<void>): Promise<void> {
  return withEachStrategy(t, body, ['cooperative', 'serial'])
}

async function run(
  device: Device,
  primitives: Primitives,
  record: (bed: Bed) => Outputs | Promise<Outputs>,
): Promise<Uint32Array[]> {
  const scratch = device.scratch()
  const recorder = device.record()
  const upload = (words: Uint32Array) => {
    const buffer = scratch.words(words.length)
    device.upload(buffer, new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
    return buffer
  }
  const outputs = await record({ device, primitives, recorder, scratch, upload })
  const columns = outputs.map(([buffer, words]) => ({ buffer, bytes: words * 4 }))
  const read = await device.submitAndRead(recorder, columns)
  scratch.release()
  return read.map((bytes) => new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4))
}

/** Checks a property with the seed of the run, which it prints. */
export async function check<T>(
  t: Test,
  arbitrary: fc.Arbitrary<T>,
  property: (value: T) => Promise<void>,
  runs: number,
): Promise<void> {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  await fc.assert(fc.asyncProperty(arbitrary, property), { seed, numRuns: runs })
}

/** Lengths beside every boundary of a subgroup, a workgroup, a tile and the tiles of tiles that a test can afford. */
export const LENGTHS = [
  0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096,
  4097, 8191, 8192, 8193, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537,
]

export const anyLength: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(...LENGTHS),
  fc.integer({ min: 0, max: 10_000 }),
)

export const anySeed: fc.Arbitrary<number> = fc.integer({ min: 1, max: 2 ** 31 - 1 })

/** How much of a column counts, up to more than all of it. */
export const anyFraction: fc.Arbitrary<number> = fc
  .integer({ min: 0, max: 120 })
  .map((hundredths) => hundredths / 100)

/** Random words, the same ones for the same seed (xorshift). */
export function randomWords(seed: number, count: number): Uint32Array {
  let state = seed
  return Uint32Array.from({ length: count }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state
  })
}

/** The place of the first difference, or undefined; quicker than a deep comparison of long columns. */
function firstDifference(found: ArrayLike<number>, wanted: ArrayLike<number>): string | undefined {
  if (found.length !== wanted.length) return `${found.length} words instead of ${wanted.length}`
  for (let i = 0; i < wanted.length; i++) {
    if (found[i] !== wanted[i]) return `word ${i} is ${found[i]} instead of ${wanted[i]}`
  }
  return undefined
}

/** Throws if the columns differ. */
export function same(found: ArrayLike<number>, wanted: ArrayLike<number>): void {
  const difference = firstDifference(found, wanted)
  if (difference !== undefined) throw new Error(difference)
}
