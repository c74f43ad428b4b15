import type { Device } from '../../../gpu/device/device.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { Primitives, type Strategy } from '../../../gpu/primitives/primitives.js'
import { suitsSubgroups } from '../../../gpu/primitives/strategy.js'
import { scatteredKeys } from '../../keys.js'
import { median, type Row, spreadOf } from '../../report.js'
import { BitonicColumnSort } from './bitonic-column.js'
import { prefixSums, splitWords } from './host-primitives.js'
import { splitCheck } from './key-parts.js'
import {
  type CheckedWork,
  checkedTimes,
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

/** What goes into the primitives, on the host and on the device. */
interface Inputs {
  readonly keys: Uint32Array
  readonly source: DeviceMemory
  /** Part of each key. */
  readonly parts: DeviceMemory
}

/** What cannot be had with and without workgroup memory, and why: rows without figures. */
const NOT_MEASURED: readonly Row[] = [
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
  }
  const rows = [await splitByThreads(bench, inputs)]
  const primitives = new Map<Strategy, Primitives>()
  for (const strategy of strategies) {
    if (canRun(device, strategy)) primitives.set(strategy, await Primitives.create(device, strategy))
  }
  const works = [...primitives].map(([strategy, one]) => ({ strategy, works: worksOf(device, one, inputs) }))
  for (const { name } of works[0]!.works) {
    const forms = works.flatMap(({ strategy, works }) =>
      works.filter((work) => work.name === name).map((work) => ({ strategy, work })),
    )
    const taken = await checkedTimes(
      bench,
      forms.map(({ work }) => work),
    )
    const figures: Record<string, number> = {}
    for (const [i, { strategy }] of forms.entries())
      Object.assign(figures, spreadOf(`${strategy} µs`, taken[i]!))
    const { 'serial µs': without, 'cooperative µs': withMemory } = figures
    const gain =
      without === undefined || withMemory === undefined ? {} : { 'times as fast': without / withMemory }
    rows.push({ name: `Figure 10, ${name}, 2^${logarithm}`, figures: { ...figures, ...gain } })
  }
  scratch.release()
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
  const works = [false, true].map((workgroupMemory): CheckedWork => {
    const shape = { invocations: INVOCATIONS, coalesced: true, workgroupMemory } as const
    const split = new ThreadSplit(device, primitives, shape)
    return {
      name: 'thread split',
      output,
      record: (recorder, scratch) => {
        split.record(recorder, scratch, groups, source, output, keys.length)
        return output
      },
      check: splitCheck('thread split', keys),
      words: keys.length,
    }
  })
  const [without, withMemory] = (await checkedTimes(bench, works)) as [number[], number[]]
  outputs.release()
  return {
    name: `Figure 10, thread split, 2^${logarithm}`,
    figures: {
      ...spreadOf('without µs', without),
      ...spreadOf('with µs', withMemory),
      'times as fast': median(without) / median(withMemory),
    },
  }
}

/** The primitives, each with what a plain loop on the host gives. */
function worksOf(device: Device, primitives: Primitives, inputs: Inputs): CheckedWork[] {
  const { keys, source, parts } = inputs
  const count = keys.length
  const shape = { keyWords: 1, payloadWords: 1 } as const
  const split = new Split(device, primitives, shape)
  const quicksort = new Quicksort(device, primitives, shape)
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
      splitWords(
        keys,
        keys.map((key) => key % FAN_OUT),
        FAN_OUT,
      ),
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
    // It knows no subgroups.
    ...(primitives.strategy === 'subgroups' ? [] : [bitonicWork(device, primitives, inputs, sorted)]),
  ]
}

/** The bitonic sort of all words, which are sorted where they lie. To bring them there is part of the time. */
function bitonicWork(
  device: Device,
  { strategy }: Primitives,
  { keys, source, parts }: Inputs,
  sorted: Uint32Array,
): CheckedWork {
  const count = keys.length
  const bitonic = new BitonicColumnSort(device, strategy === 'serial' ? 'storage' : 'workgroup')
  return {
    name: 'bitonic sort',
    record: (recorder, scratch) => {
      const copies = { keys: scratch.words(count), payloads: scratch.words(count) }
      recorder.copy(source, 0, copies.keys, 0, count * 4)
      recorder.copy(parts, 0, copies.payloads, 0, count * 4)
      bitonic.record(recorder, copies, count)
      return copies.keys
    },
    check: isExactly('bitonic sort', sorted),
    words: count,
  }
}
