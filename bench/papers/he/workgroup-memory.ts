import type { Device } from '../../../gpu/device/device.js'
import { Primitives, type Strategy } from '../../../gpu/primitives/primitives.js'
import { suitsSubgroups } from '../../../gpu/primitives/strategy.js'
import { scatteredKeys } from '../../keys.js'
import type { Row } from '../../report.js'
import { BitonicSort } from './bitonic.js'
import { splitCheck } from './key-parts.js'
import {
  type CheckedWork,
  checkedTime,
  isExactly,
  type PrimitiveBench,
  uploadWords,
} from './primitive-bench.js'
import { Quicksort } from './quicksort.js'
import { Split } from './split.js'
import { ThreadSplit } from './thread-split.js'

/** The grid of the split with counters for threads, of which each has some words to count, and the fan-out of the other one. */
const MOST_GROUPS = 1024
const INVOCATIONS = 64
const LEAST_WORDS = 16
const FAN_OUT = 64

/** Elements of the segments that the bitonic sort sorts: as many as fit into workgroup memory. */
const SEGMENT = 1024

/** What goes into the primitives, on the host and on the device. */
interface Inputs {
  readonly keys: Uint32Array
  readonly source: GPUBuffer
  /** Part of each key. */
  readonly parts: GPUBuffer
  readonly segments: number
  readonly starts: GPUBuffer
}

/** What cannot be had with and without workgroup memory, and why: rows without figures. */
const NOT_MEASURED: readonly Row[] = [
  'top levels of a CSS-tree: not measured, since no kernel keeps them in workgroup memory',
  'ninlj, smj, hj: not measured, since there are no kernels of them without workgroup memory',
].map((what) => ({ name: `Figure 10, ${what}`, figures: {} }))

const STRATEGIES: readonly Strategy[] = ['serial', 'cooperative', 'subgroups']

/**
 * He's Figure 10: what workgroup memory is worth. The paper's split (`thread split`) keeps the counters of threads there or in global
 * memory, and nothing else differs. The other primitives come by strategy (`strategy.ts`): `serial` uses no workgroup memory, but its
 * invocations have a tile each, so that accesses are not coalesced either.
 */
export async function benchWorkgroupMemory(
  bench: PrimitiveBench,
  strategies: readonly Strategy[] = STRATEGIES,
): Promise<Row[]> {
  const { device, logarithm } = bench
  const scratch = device.scratch()
  const keys = new Uint32Array(scatteredKeys(1, 0, 2 ** logarithm).buffer)
  const inputs: Inputs = {
    keys,
    source: uploadWords(device, scratch, keys),
    parts: uploadWords(
      device,
      scratch,
      keys.map((key) => key % FAN_OUT),
    ),
    segments: Math.ceil(keys.length / SEGMENT),
    starts: uploadWords(
      device,
      scratch,
      Uint32Array.from({ length: Math.ceil(keys.length / SEGMENT) }, (_, i) => i * SEGMENT),
    ),
  }
  const rows = [await splitByThreads(bench, inputs)]
  const times = new Map<string, Record<string, number>>()
  for (const strategy of strategies) {
    if (!canRun(device, strategy)) continue
    const primitives = await Primitives.create(device, strategy)
    for (const work of worksOf(device, primitives, inputs)) {
      const time = await checkedTime(bench, work)
      times.set(work.name, { ...times.get(work.name), [`${strategy} µs`]: time })
    }
  }
  scratch.release()
  for (const [name, figures] of times) {
    const { 'serial µs': without, 'cooperative µs': withMemory } = figures
    const times =
      without === undefined || withMemory === undefined ? {} : { 'times as fast': without / withMemory }
    rows.push({ name: `Figure 10, ${name}, 2^${logarithm}`, figures: { ...figures, ...times } })
  }
  return [...rows, ...NOT_MEASURED]
}

function canRun(device: Device, strategy: Strategy): boolean {
  return strategy !== 'subgroups' || suitsSubgroups(device)
}

async function splitByThreads(bench: PrimitiveBench, { keys, source }: Inputs): Promise<Row> {
  const { device, primitives, logarithm } = bench
  const groups = Math.max(1, Math.min(MOST_GROUPS, Math.floor(keys.length / (INVOCATIONS * LEAST_WORDS))))
  const outputs = device.scratch()
  const output = outputs.words(keys.length)
  const taken: number[] = []
  for (const workgroupMemory of [false, true]) {
    const shape = { invocations: INVOCATIONS, coalesced: true, workgroupMemory } as const
    const split = new ThreadSplit(device, primitives, shape)
    taken.push(
      await checkedTime(bench, {
        name: 'thread split',
        output,
        record: (recorder, scratch) => {
          split.record(recorder, scratch, groups, source, output, keys.length)
          return output
        },
        check: splitCheck('thread split', keys),
        words: keys.length,
      }),
    )
  }
  outputs.release()
  const [without, withMemory] = taken as [number, number]
  return {
    name: `Figure 10, thread split, 2^${logarithm}`,
    figures: { 'without µs': without, 'with µs': withMemory, 'times as fast': without / withMemory },
  }
}

/** The primitives, each with what a plain loop on the host gives. */
function worksOf(device: Device, primitives: Primitives, inputs: Inputs): CheckedWork[] {
  const { keys, source, parts } = inputs
  const count = keys.length
  const shape = { keyWords: 1, payloadWords: 1 } as const
  const split = new Split(device, primitives, shape)
  const quicksort = new Quicksort(device, primitives, shape)
  const bitonic = new BitonicSort(device, primitives.strategy, shape)
  const sorted = keys.slice().sort()
  const columns = { keys: source, payloads: parts }
  const work = (name: string, wanted: Uint32Array, record: CheckedWork['record']): CheckedWork => ({
    name,
    record,
    check: isExactly(name, wanted),
    words: count,
  })
  return [
    work('prefix scan', prefixSums(keys), (recorder, scratch) => {
      const output = scratch.words(count)
      primitives.scan(recorder, scratch, source, output, count)
      return output
    }),
    work(
      'split',
      splitKeys(keys),
      (recorder, scratch) => split.record(recorder, scratch, columns, parts, count, FAN_OUT).keys,
    ),
    work(
      'radix sort',
      sorted,
      (recorder, scratch) => primitives.sort(recorder, scratch, source, parts, count, 1).keys,
    ),
    work(
      'quicksort',
      sorted,
      (recorder, scratch) => quicksort.record(recorder, scratch, columns, count).keys,
    ),
    work(`bitonic sort of segments of ${SEGMENT}`, sortedSegments(keys), (recorder, scratch) => {
      // Sorted where they lie, they need to be brought there; the copies are part of the time.
      const copies = { keys: scratch.words(count), payloads: scratch.words(count) }
      recorder.copy(source, 0, copies.keys, 0, count * 4)
      recorder.copy(parts, 0, copies.payloads, 0, count * 4)
      bitonic.record(recorder, scratch, copies, count, { starts: inputs.starts, count: inputs.segments })
      return copies.keys
    }),
  ]
}

function prefixSums(words: Uint32Array): Uint32Array {
  let sum = 0
  return words.map((word) => {
    const before = sum
    sum = (sum + word) >>> 0
    return before
  })
}

/** The keys of part 0, behind them those of part 1, and so on. */
function splitKeys(keys: Uint32Array): Uint32Array {
  const next = new Uint32Array(FAN_OUT)
  for (const key of keys) for (let part = (key % FAN_OUT) + 1; part < FAN_OUT; part++) next[part]! += 1
  const split = new Uint32Array(keys.length)
  for (const key of keys) {
    const part = key % FAN_OUT
    split[next[part]!] = key
    next[part]! += 1
  }
  return split
}

function sortedSegments(keys: Uint32Array): Uint32Array {
  const sorted = keys.slice()
  for (let start = 0; start < sorted.length; start += SEGMENT) sorted.subarray(start, start + SEGMENT).sort()
  return sorted
}
