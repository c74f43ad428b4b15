import type { Device } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import type { Primitives } from '../../../gpu/primitives/primitives.js'
import { scatteredKeys } from '../../keys.js'
import { randomOrder } from '../../primitives.js'
import { median, type Row, spreadOf } from '../../report.js'
import { prefixSums, scattered, sortedKeys, splitWords } from './host-primitives.js'
import { Merge } from './merge.js'
import { MovementInPasses } from './move-in-passes.js'
import {
  type CheckedWork,
  checkedTimes,
  isExactly,
  type PrimitiveBench,
  uploadWords,
} from './primitive-bench.js'
import { Quicksort } from './quicksort.js'
import { Split } from './split.js'

/** Passes of gather and scatter that are measured beside one. */
const PASSES = [4, 16]

/** Fan-outs of split beside the paper's. */
const FAN_OUT = 64
const FAN_OUTS = [256, 2048, 2 ** 14]

/** Work on the device, and the words that go in and out, counted once however often they are moved. */
interface Step extends CheckedWork {
  readonly moved: number
  /** What a plain loop on one core of the host takes, in milliseconds. */
  readonly hostMs?: number
}

/** Columns that the steps read and write, on the device and on the host. */
interface Fixture {
  readonly device: Device
  readonly primitives: Primitives
  readonly scratch: Scratch
  readonly count: number
  readonly words: Uint32Array
  readonly indices: Uint32Array
  readonly source: DeviceMemory
  readonly order: DeviceMemory
  readonly output: DeviceMemory
}

/**
 * The primitives of He et al.'s Table 3, beside one core of the host, and other forms of them, on columns that lie on the device: milliseconds,
 * gigabytes a second of input and output, and that as a share of what a copy on the same adapter moves. All take turns.
 */
export async function benchTable3(bench: PrimitiveBench): Promise<Row[]> {
  const { device, primitives, logarithm } = bench
  const count = 2 ** logarithm
  const scratch = device.scratch()
  const words = new Uint32Array(scatteredKeys(1, 0, count).buffer)
  const indices = new Uint32Array(randomOrder(count).buffer)
  const [source, order] = [words, indices].map((column) => uploadWords(device, scratch, column)) as [
    DeviceMemory,
    DeviceMemory,
  ]
  const fixture = {
    device,
    primitives,
    scratch,
    count,
    words,
    indices,
    source,
    order,
    output: scratch.words(count),
  }
  const copies = copiesOf(fixture)
  const steps = [...paperSteps(fixture), ...otherForms(fixture)]
  const taken = await checkedTimes(bench, [...copies, ...steps])
  scratch.release()
  const copied = copies.map((_, i) => taken[i]!).reduce((a, b) => (median(b) < median(a) ? b : a))
  const copyRate = (8 * count) / median(copied)
  const row = (
    name: string,
    times: readonly number[],
    { moved, hostMs }: Pick<Step, 'moved' | 'hostMs'>,
  ): Row => {
    const rate = (4 * moved) / median(times)
    const ms = times.map((microseconds) => microseconds / 1e3)
    const host = hostMs === undefined ? {} : { 'host ms': hostMs, 'times as fast': hostMs / median(ms) }
    const figures = {
      ...spreadOf('ms', ms),
      'GB/s': rate / 1e3,
      '% of copy': (100 * rate) / copyRate,
      ...host,
    }
    return { name: `Table 3, ${name}, 2^${logarithm}`, figures }
  }
  return [
    row('copy', copied, { moved: 2 * count }),
    ...steps.map((step, i) => row(step.name, taken[copies.length + i]!, step)),
  ]
}

/** By the device's own copy and by a kernel; the faster one counts. */
function copiesOf({ primitives, count, words, source, output }: Fixture): CheckedWork[] {
  const same = { multiplier: 1, addend: 0 }
  const shared = { check: isExactly('copy', words), words: count, output }
  return [
    { name: 'copy', ...shared, record: into(output, (r) => r.copy(source, 0, output, 0, count * 4)) },
    {
      name: 'copy by a kernel',
      ...shared,
      record: into(output, (r) => primitives.map(r, source, output, count, same)),
    },
  ]
}

/** Recorded work whose result is in a column of its own. */
function into(
  output: DeviceMemory,
  record: (recorder: Recorder, scratch: Scratch) => void,
): CheckedWork['record'] {
  return (recorder, scratch) => {
    record(recorder, scratch)
    return output
  }
}

/** A host's result, and how long it took. */
function onHost(run: () => Uint32Array): { readonly wanted: Uint32Array; readonly hostMs: number } {
  const begin = performance.now()
  const wanted = run()
  return { wanted, hostMs: performance.now() - begin }
}

/** The paper's six; sort and split move keys with a word beside each. */
function paperSteps(fixture: Fixture): Step[] {
  const { device, primitives, count, words, indices, source, order, output } = fixture
  const step = (name: string, moved: number, host: () => Uint32Array, record: Step['record']): Step => {
    const { wanted, hostMs } = onHost(host)
    return { name, moved, hostMs, record, check: isExactly(name, wanted), words: count }
  }
  const total = { buffer: fixture.scratch.words(1), index: 0 }
  const quicksort = new Quicksort(device, primitives, { keyWords: 1, payloadWords: 1 })
  return [
    step(
      'map',
      2 * count,
      () => words.map((word) => Math.imul(3, word) + 1),
      (r) => {
        primitives.map(r, source, output, count, { multiplier: 3, addend: 1 })
        return output
      },
    ),
    step(
      'scatter',
      3 * count,
      () => scattered(words, indices),
      (r) => {
        primitives.scatter(r, source, order, output, count, 1)
        return output
      },
    ),
    step(
      'gather',
      3 * count,
      () => indices.map((from) => words[from]!),
      (r) => {
        primitives.gather(r, source, order, output, count, 1)
        return output
      },
    ),
    step(
      'prefix scan',
      2 * count,
      () => prefixSums(words),
      (r, s) => {
        primitives.scan(r, s, source, output, count, total)
        return output
      },
    ),
    splitStep(fixture, FAN_OUT),
    step(
      'quicksort',
      4 * count,
      () => sortedKeys(words),
      (r, s) => {
        return quicksort.record(r, s, { keys: source, payloads: order }, count).keys
      },
    ),
  ]
}

/** Three words go in for each key, and two come out. */
function splitStep(
  { device, primitives, scratch, count, words, source, order }: Fixture,
  fanOut: number,
): Step {
  const split = new Split(device, primitives, { keyWords: 1, payloadWords: 1 })
  const numbers = words.map((word) => word % fanOut)
  const parts = uploadWords(device, scratch, numbers)
  const name = `split into ${fanOut}`
  const { wanted, hostMs } = onHost(() => splitWords(words, numbers, fanOut))
  return {
    name,
    moved: 5 * count,
    hostMs,
    record: (r, s) => split.record(r, s, { keys: source, payloads: order }, parts, count, fanOut).keys,
    check: isExactly(name, wanted),
    words: count,
  }
}

/** What came after the paper, and what it says of other parameters. */
function otherForms(fixture: Fixture): Step[] {
  const { device, primitives, count, words, indices, source, order, output } = fixture
  const movement = new MovementInPasses(device)
  const steps: Step[] = PASSES.flatMap((passes): Step[] => {
    const move = { source, indices: order, output, count, words: 1, range: count, passes }
    const shared = { moved: 3 * count, words: count, output }
    const [scatter, gather] = [`scatter in ${passes} passes`, `gather in ${passes} passes`]
    return [
      {
        name: scatter,
        ...shared,
        record: into(output, (r) => movement.recordScatter(r, move)),
        check: isExactly(scatter, scattered(words, indices)),
      },
      {
        name: gather,
        ...shared,
        record: into(output, (r) => movement.recordGather(r, move)),
        check: isExactly(
          gather,
          indices.map((from) => words[from]!),
        ),
      },
    ]
  })
  const sorted = sortedKeys(words)
  return [
    ...steps,
    ...FAN_OUTS.filter((fanOut) => fanOut <= count).map((fanOut) => splitStep(fixture, fanOut)),
    {
      name: 'radix sort',
      moved: 4 * count,
      record: (r, s) => primitives.sort(r, s, source, order, count, 1).keys,
      check: isExactly('radix sort', sorted),
      words: count,
    },
    mergeStep(fixture, sorted),
  ]
}

/** Merges two halves, of ascending keys that take turns at random. */
function mergeStep({ device, primitives, scratch, count, words, order }: Fixture, wanted: Uint32Array): Step {
  const merge = new Merge(device, primitives.strategy, { keyWords: 1, payloadWords: 1 })
  const run = (half: Uint32Array) => ({
    columns: { keys: uploadWords(device, scratch, half.slice().sort()), payloads: order },
    count: half.length,
  })
  const [first, second] = [run(words.subarray(0, count / 2)), run(words.subarray(count / 2))]
  return {
    name: 'merge',
    moved: 4 * count,
    record: (r, s) => merge.record(r, s, first, second).keys,
    check: isExactly('merge', wanted),
    words: count,
  }
}
