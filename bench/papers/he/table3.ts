import type { Device } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import { Primitives } from '../../../gpu/primitives/primitives.js'
import { scatteredKeys } from '../../keys.js'
import { randomOrder } from '../../primitives.js'
import { median, type Row } from '../../report.js'
import { warmUp } from '../../warm-up.js'
import { BitonicSort } from './bitonic.js'
import { Merge } from './merge.js'
import { MovementInPasses } from './move-in-passes.js'
import { Quicksort } from './quicksort.js'
import { Split } from './split.js'

/**
 * As many submissions are timed together as take this long, so that the device is never idle between them, and rounds of which
 * the median counts.
 */
const ROUND_SECONDS = 0.02
const MOST_SUBMISSIONS = 16
const ROUNDS = 5

/** Passes of gather and scatter that are measured beside one. */
const PASSES = [4, 16]

/** Fan-outs of split; He et al. have 64. */
const FAN_OUTS = [64, 256, 2048, 2 ** 14]

/** Mean lengths of the segments that are sorted. */
const SORTED_SEGMENT_LENGTHS = [16, 1024]

/** What is measured: work on the device, and the words that go in and out, counted once however often they are moved. */
interface Step {
  readonly words: number
  readonly record: (recorder: Recorder, scratch: Scratch) => void
}

type Steps = Readonly<Record<string, Step>>

/** Columns of u32 words that the steps read and write. */
interface Fixture {
  readonly device: Device
  readonly primitives: Primitives
  readonly count: number
  /** As many random u64 keys, or twice as many u32 keys. */
  readonly keys: GPUBuffer
  readonly order: GPUBuffer
  readonly output: GPUBuffer
  readonly spare: GPUBuffer
  /** Part numbers, starts of segments. */
  readonly upload: (words: Uint32Array) => GPUBuffer
}

/**
 * The primitives of He et al.'s Table 3, and those that came later, on 2^logarithm elements (theirs are 2^24) that lie on the
 * device: milliseconds, gigabytes a second of input and output, and that as a share of what a copy on the same adapter moves.
 */
export async function benchTable3(device: Device, logarithm: number): Promise<Row[]> {
  const count = 2 ** logarithm
  const buffers: GPUBuffer[] = []
  const allocate = async (words: number, label: string) => {
    const buffer = await device.allocate(words * 4, label)
    buffers.push(buffer)
    return buffer
  }
  const scratch = device.scratch()
  const upload = (words: Uint32Array) => {
    const buffer = scratch.words(words.length)
    device.upload(buffer, new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
    return buffer
  }
  const fixture: Fixture = {
    device,
    primitives: await Primitives.create(device),
    count,
    keys: await allocate(2 * count, 'keys'),
    order: await allocate(count, 'a random order'),
    output: await allocate(2 * count, 'output'),
    spare: await allocate(2 * count, 'more output'),
    upload,
  }
  device.upload(fixture.keys, scatteredKeys(2, 0, count))
  device.upload(fixture.order, randomOrder(count))
  const steps = {
    ...moves(fixture),
    ...movesInPasses(fixture),
    ...splits(fixture),
    ...sorts(fixture),
    ...merges(fixture),
  }
  const { keys, output, primitives } = fixture
  await warmUp(device, primitives)
  // Until all of it has run once, an adapter that was idle for seconds is not yet at the clock at which it works under load.
  for (const { record } of Object.values(steps)) await seconds(device, record)
  const same = { multiplier: 1, addend: 0 }
  // By the device's own copy or by a kernel, whichever is faster.
  const copied = Math.min(
    await seconds(device, (recorder) => recorder.copy(keys, 0, output, 0, count * 8)),
    await seconds(device, (recorder) => primitives.map(recorder, keys, output, 2 * count, same)),
  )
  const copyRate = (count * 16) / copied
  const rows: Row[] = [row(`copy, 2^${logarithm}`, copied, count * 16, copyRate)]
  for (const [name, { words, record }] of Object.entries(steps)) {
    rows.push(row(`${name}, 2^${logarithm}`, await seconds(device, record), words * 4, copyRate))
  }
  scratch.release()
  for (const buffer of buffers) buffer.destroy()
  return rows
}

function row(name: string, taken: number, bytes: number, copyRate: number): Row {
  const rate = bytes / taken
  return { name, figures: { ms: taken * 1e3, 'GB/s': rate / 1e9, '% of copy': (100 * rate) / copyRate } }
}

function moves({ primitives, count, keys, order, output }: Fixture): Steps {
  const total = { buffer: output, index: count }
  return {
    map: {
      words: 2 * count,
      record: (r) => primitives.map(r, keys, output, count, { multiplier: 3, addend: 1 }),
    },
    scatter: { words: 3 * count, record: (r) => primitives.scatter(r, keys, order, output, count, 1) },
    gather: { words: 3 * count, record: (r) => primitives.gather(r, keys, order, output, count, 1) },
    'prefix scan': {
      words: 2 * count,
      record: (r, s) => primitives.scan(r, s, keys, output, count, total),
    },
    compact: {
      words: 2 * count,
      record: (r, s) => primitives.compact(r, s, keys, count, output, { buffer: s.words(1), index: 0 }),
    },
  }
}

function movesInPasses({ device, count, keys, order, output }: Fixture): Steps {
  const movement = new MovementInPasses(device)
  const steps: Record<string, Step> = {}
  for (const passes of PASSES) {
    const move = { source: keys, indices: order, output, count, words: 1, range: count, passes }
    const words = 3 * count
    steps[`scatter in ${passes} passes`] = { words, record: (r) => movement.recordScatter(r, move) }
    steps[`gather in ${passes} passes`] = { words, record: (r) => movement.recordGather(r, move) }
  }
  return steps
}

/** Splits u32 keys with a u32 payload: three words go in for each and two come out. */
function splits({ device, primitives, count, keys, order, upload }: Fixture): Steps {
  const split = new Split(device, primitives, { keyWords: 1, payloadWords: 1 })
  const random = new Uint32Array(scatteredKeys(1, 0, count).buffer)
  const steps: Record<string, Step> = {}
  for (const fanOut of FAN_OUTS) {
    const parts = upload(random.map((word) => (word >>> 7) % fanOut))
    steps[`split into ${fanOut}`] = {
      words: 5 * count,
      record: (r, s) => split.record(r, s, { keys, payloads: order }, parts, count, fanOut),
    }
  }
  return steps
}

function sorts({ device, primitives, count, keys, order, output, spare, upload }: Fixture): Steps {
  const narrow = { keyWords: 1, payloadWords: 1 } as const
  const wide = { keyWords: 2, payloadWords: 1 } as const
  const columns = { keys, payloads: order }
  const quicksort = new Quicksort(device, primitives, narrow)
  const wideQuicksort = new Quicksort(device, primitives, wide)
  const bitonic = new BitonicSort(device, primitives.strategy, narrow)
  const steps: Record<string, Step> = {
    'radix sort u32 + u32': {
      words: 4 * count,
      record: (r, s) => primitives.sort(r, s, keys, order, count, 1),
    },
    'quicksort u32 + u32': { words: 4 * count, record: (r, s) => quicksort.record(r, s, columns, count) },
    'radix sort u64 + u32': {
      words: 6 * count,
      record: (r, s) => primitives.sort(r, s, keys, order, count, 2),
    },
    'quicksort u64 + u32': { words: 6 * count, record: (r, s) => wideQuicksort.record(r, s, columns, count) },
  }
  for (const length of SORTED_SEGMENT_LENGTHS) {
    const segments = Math.max(1, count / length)
    const starts = upload(Uint32Array.from({ length: segments }, (_, i) => i * length))
    steps[`bitonic sort of segments of ${length}`] = {
      words: 4 * count,
      record: (r, s) => {
        // Sorted in their place, they need to be brought there again.
        r.copy(keys, 0, output, 0, count * 4)
        r.copy(order, 0, spare, 0, count * 4)
        bitonic.record(r, s, { keys: output, payloads: spare }, count, { starts, count: segments })
      },
    }
  }
  return steps
}

/** Merges two halves, of ascending keys that take turns at random. */
function merges({ device, primitives, count, order, upload }: Fixture): Steps {
  const half = count / 2
  const merge = new Merge(device, primitives.strategy, { keyWords: 1, payloadWords: 1 })
  const run = (first: number) => {
    const words = new Uint32Array(scatteredKeys(1, first, half).buffer).sort()
    return { columns: { keys: upload(words), payloads: order }, count: half }
  }
  const [first, second] = [run(0), run(half)]
  return {
    'merge u32 + u32': { words: 4 * count, record: (r, s) => merge.record(r, s, first, second) },
  }
}

/** Seconds that what is recorded takes on a device that has more of it to do. */
async function seconds(device: Device, record: Step['record']): Promise<number> {
  const time = async (submissions: number) => {
    const start = performance.now()
    for (let i = 0; i < submissions; i++) {
      const scratch = device.scratch()
      const recorder = device.record()
      record(recorder, scratch)
      recorder.submit()
      scratch.release()
    }
    await device.gpu.queue.onSubmittedWorkDone()
    return (performance.now() - start) / 1e3 / submissions
  }
  // The first one makes the buffers.
  await time(1)
  const submissions = Math.max(1, Math.min(MOST_SUBMISSIONS, Math.floor(ROUND_SECONDS / (await time(1)))))
  const taken: number[] = []
  for (let round = 0; round < ROUNDS; round++) taken.push(await time(submissions))
  device.check()
  return median(taken)
}
