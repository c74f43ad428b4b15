import { blankColumn, type CutColumn, countOf } from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { TRAVERSALS, type Traversal } from '../../../protocol/traversal.js'
import { WriteOp } from '../../../protocol/types.js'
import type { Device } from '../../device/device.js'
import type { IndexShape } from '../../index-structure.js'
import { Primitives } from '../../primitives/primitives.js'
import { WarmDevice } from '../../primitives/warm-device.js'
import { Arena } from '../arena.js'
import { treeShape } from '../layout.js'
import { type Parts, partsFor } from '../parts.js'
import { fitCosts, impossibleCost, type Measurement } from './fit-costs.js'
import { GetTimer } from './get-timer.js'
import { situationOf, type TraversalCosts } from './traversal-costs.js'

/** A tree over random keys of printable characters. */
interface Sample {
  readonly keys: number
  readonly keyBytes: number
  /** Bytes at their beginning that all keys share; 0 if absent. */
  readonly sharedBytes?: number
  readonly layout: 'full' | 'compact'
  readonly partitionLevels: number | 'auto'
}

/** What is measured, and how often. */
export interface CalibrationPlan {
  readonly samples: readonly Sample[]
  readonly batches: readonly number[]
  readonly repeats: number
  /** Queries times partitions from which on the strategies that go down all partitions are left out. */
  readonly mostResults: number
}

/** Trees within a device's cache and far beyond it, of few and of many levels. */
const HARDWARE: CalibrationPlan = {
  samples: [
    { keys: 1000, keyBytes: 128, layout: 'full', partitionLevels: 'auto' },
    { keys: 1000, keyBytes: 32, layout: 'full', partitionLevels: 'auto' },
    { keys: 1000, keyBytes: 64, layout: 'full', partitionLevels: 4 },
    { keys: 30_000, keyBytes: 128, layout: 'full', partitionLevels: 'auto' },
    { keys: 100_000, keyBytes: 60, layout: 'full', partitionLevels: 'auto' },
    { keys: 1000, keyBytes: 128, layout: 'compact', partitionLevels: 'auto' },
    { keys: 1000, keyBytes: 128, sharedBytes: 126, layout: 'compact', partitionLevels: 'auto' },
    { keys: 100_000, keyBytes: 60, layout: 'compact', partitionLevels: 'auto' },
    { keys: 100_000, keyBytes: 60, sharedBytes: 40, layout: 'compact', partitionLevels: 'auto' },
  ],
  batches: [1, 16, 256, 2 ** 11, 2 ** 13, 2 ** 16, 2 ** 19],
  repeats: 7,
  mostResults: 2 ** 23,
}

const SOFTWARE: CalibrationPlan = {
  samples: [
    { keys: 300, keyBytes: 64, layout: 'full', partitionLevels: 'auto' },
    { keys: 300, keyBytes: 16, layout: 'full', partitionLevels: 4 },
    { keys: 1000, keyBytes: 32, layout: 'compact', partitionLevels: 'auto' },
  ],
  batches: [1, 16, 256],
  repeats: 3,
  mostResults: 2 ** 16,
}

const SHAPE: IndexShape = { keyType: 'bytes', payloadBytes: 4, unique: true, matchFrom: 0 }

/** What measurements are made on, and how. */
interface Bench {
  readonly device: Device
  readonly warm: WarmDevice
  readonly plan: CalibrationPlan
  readonly stop: AbortSignal | undefined
}

type Measurements = ReadonlyMap<Traversal, Measurement[]>

/** Other work on the device now and then makes costs that cannot be, but not several times in a row. */
const ATTEMPTS = 3

/**
 * Measures what the traversal strategies cost on a device, by timing each over trees made for the purpose. Takes seconds.
 * @param plan the one that suits the device, unless given
 * @param stop gives the calibration up, with its reason
 * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `INTERNAL` where what was measured cannot be, time and again
 */
export async function calibrate(
  device: Device,
  plan: CalibrationPlan = device.facts.software ? SOFTWARE : HARDWARE,
  stop?: AbortSignal,
): Promise<TraversalCosts> {
  const bench: Bench = { device, warm: new WarmDevice(device, await Primitives.create(device)), plan, stop }
  let impossible: string | undefined
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const measurements: Measurements = new Map(TRAVERSALS.map((traversal) => [traversal, []]))
    for (const sample of plan.samples) await measureTree(bench, sample, measurements)
    const costs = fitCosts(measurements)
    impossible = impossibleCost(costs, measurements)
    if (impossible === undefined) return costs
  }
  throw new WarpdexError(
    'INTERNAL',
    `by what was measured, ${impossible}, which cannot be; calibrate again when the device has less else to do`,
  )
}

async function measureTree(
  { device, warm, plan, stop }: Bench,
  sample: Sample,
  found: Measurements,
): Promise<void> {
  stop?.throwIfAborted()
  const { keys, layout, partitionLevels } = sample
  const shape: IndexShape = { ...SHAPE, layout, partitionLevels }
  const parts = await partsFor(device, shape)
  const arena = await Arena.create(device, treeShape(shape), { nodes: 1, tuples: 1, extentWords: 1 })
  const timers: GetTimer[] = []
  try {
    await insert(parts, arena, randomKeys(keys, sample))
    // All that the host makes is made before the first measurement, so that it does not leave the device alone later.
    for (const batch of plan.batches) {
      // The first numbers are those of the keys in the tree.
      const numbers = Uint32Array.from({ length: batch }, (_, i) => Math.imul(i, 0x9e3779b1) >>> 0)
      const queries = randomKeys(batch, sample, (i) => numbers[i] % keys)
      timers.push(new GetTimer(warm, parts.reads, queries, stop))
    }
    for (const timer of timers) await measureBatch(plan, sample, parts, arena, timer, found)
  } finally {
    for (const timer of timers) timer.release()
    arena.destroy()
  }
}

async function measureBatch(
  plan: CalibrationPlan,
  { keys, keyBytes, layout }: Sample,
  { locator }: Parts,
  arena: Arena,
  timer: GetTimer,
  found: Measurements,
): Promise<void> {
  if (locator === undefined) return
  const table = await locator.partitions(arena)
  const { count } = timer
  const batch = { count, digits: 2 * keyBytes, meanDigits: 2 * keyBytes }
  const situation = situationOf(layout === 'full', arena, table, keys, batch)
  const ways = [...found.keys()].filter(({ strategy }) => {
    const visitsAll = strategy === 'speculative' || strategy === 'hierarchical'
    return !visitsAll || count * table.count <= plan.mostResults
  })
  const times = await timer.times(locator, arena, ways, plan.repeats)
  for (const [i, traversal] of ways.entries()) {
    found.get(traversal)!.push({ situation, microseconds: times[i] })
  }
}

async function insert({ writer }: Parts, arena: Arena, keys: CutColumn): Promise<void> {
  const prepared = await writer.prepare(arena, {
    ops: WriteOp.insert,
    keys,
    payloads: blankColumn(countOf(keys), 4),
  })
  prepared.apply()
}

const FIRST_PRINTABLE = 0x20
const PRINTABLE = 95

/** Keys of printable characters that look random, each by its number. */
function randomKeys(
  count: number,
  { keyBytes, sharedBytes = 0 }: Sample,
  number: (i: number) => number = (i) => i,
): CutColumn {
  const bytes = new Uint8Array(count * keyBytes)
  const offsets = Uint32Array.from({ length: count + 1 }, (_, i) => i * keyBytes)
  for (let i = 0; i < count; i++) {
    let state = Math.imul(number(i) + 1, 0x85ebca6b) | 1
    for (let at = i * keyBytes; at < (i + 1) * keyBytes; at++) {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      const shared = at % keyBytes < sharedBytes
      bytes[at] = FIRST_PRINTABLE + (shared ? 0 : (state >>> 0) % PRINTABLE)
    }
  }
  return { bytes, offsets }
}
