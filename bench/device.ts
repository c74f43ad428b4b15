import { setTimeout } from 'node:timers/promises'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import { Device } from '../gpu/device/device.js'
import type { Recorder } from '../gpu/device/recorder.js'
import { Arena } from '../gpu/index/arena.js'
import { uploadItems } from '../gpu/index/batch/items.js'
import { treeShape } from '../gpu/index/layout.js'
import { DirectoryBuilder } from '../gpu/index/main/directory.js'
import { createReads, type Reads } from '../gpu/index/read/reads.js'
import { TreeWriter } from '../gpu/index/write/tree-writer.js'
import type { IndexShape } from '../gpu/index-structure.js'
import { Primitives } from '../gpu/primitives/primitives.js'
import { asBytes } from '../protocol/columns.js'
import { toWarpdexError } from '../protocol/errors.js'
import { WriteOp } from '../protocol/types.js'
import { measureApart, measureForParent } from './apart.js'
import { kernelTime } from './kernel-time.js'
import { numberedPayloads, sampledKeys, scatteredKeys } from './keys.js'
import { profiled } from './profiled.js'
import { median, type Row } from './report.js'
import { warmUp } from './warm-up.js'

/** What one line of the device benchmark is about. */
interface Case {
  readonly name: string
  readonly shape: IndexShape
}

const U32: Case = {
  name: 'u32 → u32',
  shape: { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 },
}
const U32_CSS: Case = { name: 'u32 → u32, CSS-tree', shape: { ...U32.shape, structure: 'css' } }
const U64: Case = {
  name: 'u64 → u64, unique',
  shape: { keyType: 'u64', payloadBytes: 8, unique: true, matchFrom: 0 },
}

const U64_CSS: Case = { name: 'u64 → u64, unique, CSS-tree', shape: { ...U64.shape, structure: 'css' } }

/** Repetitions of which the median counts. */
const REPEATS = 5

/** Scans that stay on the device: more would have results of more than a binding. */
const MOST_SCANS = 1 << 22

/** Logarithms of the small batches of lookups whose kernel is timed. */
const SMALL_BATCHES = [10, 12, 14]
const EFFORT = { repeats: 15, seconds: 2 }

/** Queries that a lookup is measured with. */
const MOST_QUERIES = 1 << 24

/** Inserts until one finds no room left, at most: regions double. */
const MOST_INSERTS = 17

/** A device without work makes memory ahead of need. */
const IDLE_MS = 500

const CASES = [U32, U32_CSS, U64, U64_CSS]

/**
 * Builds, inserts, gets, scans and deletes on indexes of 2^16 keys and more, with everything that goes in already on the
 * device: what the kernels do, wall clock with submission and the round trips that an operation makes by itself; where said, by the
 * device's own time for the kernels alone. Each size is
 * measured in a process of its own.
 * @param logarithms sizes as powers of two
 */
export async function benchDevice(adapter: AdapterChoice, logarithms: readonly number[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const { name } of CASES) {
    for (const logarithm of logarithms) {
      const row = await measureApart<Measurement, Row>(import.meta.url, { adapter, name, logarithm })
      if (row !== undefined) rows.push(row)
    }
  }
  return rows
}

interface Measurement {
  readonly adapter: AdapterChoice
  readonly name: string
  readonly logarithm: number
}

/** One measurement, in the process made for it; nothing if the adapter does not hold an index of that size. */
async function measure({ adapter, name, logarithm }: Measurement): Promise<Row | undefined> {
  const device = await Device.open(adapter)
  device.keepReserve()
  let row: Row | undefined
  const { shape } = CASES.find((one) => one.name === name)!
  try {
    const bench = await TreeBench.create(device, shape, 2 ** logarithm)
    row = { name: `${name}, 2^${logarithm}`, figures: await bench.run() }
    console.log(`${row.name}: ${JSON.stringify(row.figures)}`)
    bench.destroy()
  } catch (error) {
    if (toWarpdexError(error).code !== 'OUT_OF_DEVICE_MEMORY') throw error
    console.log(`${name}, 2^${logarithm}: ${toWarpdexError(error).message}`)
  }
  device.destroy()
  return row
}

async function wallSeconds(work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

class TreeBench {
  readonly #device: Device
  readonly #shape: IndexShape
  readonly #count: number
  readonly #writer: TreeWriter
  readonly #reader: Reads
  readonly #primitives: Primitives
  /** Builds the directory that a write may put off; only of CSS-trees. */
  readonly #separators: DirectoryBuilder | undefined
  #arena: Arena | undefined

  private constructor(
    device: Device,
    shape: IndexShape,
    count: number,
    primitives: Primitives,
    writer: TreeWriter,
    reader: Reads,
    separators: DirectoryBuilder | undefined,
  ) {
    this.#device = device
    this.#shape = shape
    this.#count = count
    this.#primitives = primitives
    this.#writer = writer
    this.#reader = reader
    this.#separators = separators
  }

  static async create(device: Device, shape: IndexShape, count: number): Promise<TreeBench> {
    const primitives = await Primitives.create(device)
    const writer = new TreeWriter(device, primitives, shape)
    const reader = createReads(device, primitives, shape)
    const tree = treeShape(shape)
    const separators = tree.conditions.css ? new DirectoryBuilder(device, tree) : undefined
    return new TreeBench(device, shape, count, primitives, writer, reader, separators)
  }

  async run(): Promise<Row['figures']> {
    const buildSeconds: number[] = []
    for (let repeat = 0; repeat < (this.#count > 1 << 20 ? 3 : REPEATS); repeat++) {
      await this.#renewArena()
      buildSeconds.push(await this.#write(WriteOp.insert, 0, this.#count))
    }
    const bytesPerKey = this.#arena!.usedBytes / this.#count
    const hit = await this.#lookups(this.#count)
    const halfMiss = await this.#lookups(2 * this.#count)
    const sorted = await this.#lookups(this.#count, { sorted: true })
    const scan32 = await this.#scans(4096, 32)
    const small = await this.#smallLookups()
    const scans = Math.min(MOST_SCANS, this.#count / 16)
    const written32 = await this.#writtenScans(scans, 32)
    const scanKernels32 = await this.#scanKernels(scans, 32)
    const scan1000 = await this.#scans(128, 1000)
    const batch = Math.max(1, this.#count / 16)
    // As in a server, what regions grow into was made in idle time.
    await setTimeout(IDLE_MS)
    const inserts = await this.#inserts(batch)
    const deleteSeconds = await this.#write(WriteOp.deleteKey, this.#count, batch)
    const insertKernels = await this.#writeKernels(WriteOp.insert, this.#count, batch)
    // Keys that were there from the start: in a CSS-tree they lie in the sorted part.
    const deleteKernels = await this.#writeKernels(WriteOp.deleteKey, 0, batch)
    await this.#renewArena()
    const buildKernels = await this.#writeKernels(WriteOp.insert, 0, this.#count)
    return {
      'build Mkeys/s': this.#count / median(buildSeconds) / 1e6,
      'B/key': bytesPerKey,
      'get Mkeys/s': hit,
      'get half miss': halfMiss,
      'get, queries in key order': sorted,
      ...small,
      'scan 32 Mentries/s': scan32,
      'scan 1000': scan1000,
      'Mscans/s of 32, on the device': written32,
      'Mscans/s of 32, kernels alone': scanKernels32,
      'insert 1/16 Mkeys/s': batch / median(inserts.all) / 1e6,
      ...(inserts.growing.length > 0 && { growing: batch / median(inserts.growing) / 1e6 }),
      'delete 1/16 Mkeys/s': batch / deleteSeconds / 1e6,
      'build, kernels alone': this.#count / buildKernels / 1e6,
      'insert, kernels alone': batch / insertKernels / 1e6,
      'delete, kernels alone': batch / deleteKernels / 1e6,
    }
  }

  destroy(): void {
    this.#arena?.destroy()
  }

  /** Seconds of inserts of a batch each, and of those of them for which regions had to grow: as many inserts as it takes for one to be among them. */
  async #inserts(batch: number): Promise<{ all: number[]; growing: number[] }> {
    const [all, growing]: number[][] = [[], []]
    while (all.length < REPEATS || (growing.length === 0 && all.length < MOST_INSERTS)) {
      const before = this.#arena!.bytes
      const seconds = await this.#write(WriteOp.insert, this.#count + all.length * batch, batch)
      all.push(seconds)
      if (this.#arena!.bytes > before) growing.push(seconds)
    }
    return { all, growing }
  }

  async #renewArena(): Promise<void> {
    this.#arena?.destroy()
    const need = { nodes: 1, tuples: 1, extentWords: 1 }
    this.#arena = await Arena.create(this.#device, treeShape(this.#shape), need)
  }

  /** Seconds to write keys number `first` and following. */
  async #write(
    ops: WriteOp,
    first: number,
    count: number,
    measure: (work: () => Promise<void>) => Promise<number> = wallSeconds,
  ): Promise<number> {
    const { keyWords, payloadWords } = treeShape(this.#shape)
    const device = this.#device
    const scratch = device.scratch()
    const batch = {
      ops,
      keys: { bytes: asBytes(scatteredKeys(keyWords, first, count)), width: 4 * keyWords },
      payloads: { bytes: numberedPayloads(payloadWords, first, count), width: 4 * payloadWords },
    }
    const items = uploadItems(device, scratch, this.#shape, batch)
    await warmUp(device, this.#primitives)
    let written = 0
    const seconds = await measure(async () => {
      const prepared = await this.#writer.prepareItems(this.#arena!, scratch, items)
      prepared.apply()
      this.#separators?.provide(this.#arena)
      await device.gpu.queue.onSubmittedWorkDone()
      const { keys, tuplesRemoved } = prepared.change
      written = ops === WriteOp.insert ? keys : tuplesRemoved
    })
    if (written !== count) throw new Error(`${written} of ${count} keys were written`)
    return seconds
  }

  /** Seconds that kernels take to write keys number `first` and following, by the device's time; 0 where it has none. */
  #writeKernels(ops: WriteOp, first: number, count: number): Promise<number> {
    return this.#write(ops, first, count, async (work) => {
      const kernels = await profiled(this.#device, work)
      return (kernels ?? []).reduce((sum, { microseconds }) => sum + microseconds, 0) / 1e6
    })
  }

  /**
   * Millions of lookups a second of keys with numbers below `bound`; those below the index's size are found.
   * @param options `sorted`: the keys come in their order
   */
  async #lookups(bound: number, { sorted } = { sorted: false }): Promise<number> {
    const { keyWords, payloadWords } = treeShape(this.#shape)
    const device = this.#device
    const count = Math.min(MOST_QUERIES, this.#count)
    const { keys, numbers: sampled } = sampledKeys(keyWords, bound, count)
    const scratch = device.scratch()
    const columns = { keys: scratch.bytes(keys.byteLength), values: scratch.words(count) }
    device.upload(columns.keys, keys)
    device.upload(columns.values, asBytes(sampled))
    const sorting = device.record()
    const { keys: queries, values } = sorted
      ? this.#primitives.sort(sorting, scratch, columns.keys, columns.values, count, keyWords)
      : columns
    sorting.submit()
    const numbers = await device.readWords(values, count)
    const found = scratch.bytes(Math.ceil(count / 8))
    const payloads = scratch.words(count * payloadWords)
    const dispatches = Math.max(1, Math.min(16, MOST_QUERIES / count))
    const seconds = await this.#time((recorder) => {
      for (let i = 0; i < dispatches; i++) {
        const keys = { keys: queries, heap: undefined }
        this.#reader.get.record(
          { recorder, scratch, arena: this.#arena! },
          { queries: keys, found, payloads, count },
        )
      }
    })
    const answers = await device.readWords(payloads, count * payloadWords)
    for (let i = 0; i < count; i += 97) {
      const expected = numbers[i]! < this.#count ? numbers[i]! : 0
      if (answers[i * payloadWords] !== expected) {
        throw new Error(`key number ${numbers[i]}: payload ${answers[i * payloadWords]}`)
      }
    }
    scratch.release()
    return (count * dispatches) / seconds / 1e6
  }

  /** Microseconds that the kernel takes for small batches of keys that are all found. */
  async #smallLookups(): Promise<Row['figures']> {
    const { keyWords, payloadWords } = treeShape(this.#shape)
    const figures: Record<string, number> = {}
    for (const logarithm of SMALL_BATCHES) {
      const count = 2 ** logarithm
      const { keys } = sampledKeys(keyWords, this.#count, count)
      const column = this.#device.scratch()
      const queries = { keys: column.bytes(keys.byteLength), heap: undefined }
      this.#device.upload(queries.keys, keys)
      await warmUp(this.#device, this.#primitives)
      const { microseconds } = await kernelTime(this.#device, EFFORT, (recorder, scratch) => {
        const [found, payloads] = [scratch.bytes(count / 8), scratch.words(count * payloadWords)]
        this.#reader.get.record(
          { recorder, scratch, arena: this.#arena! },
          { queries, found, payloads, count },
        )
      })
      column.release()
      figures[`get 2^${logarithm}, µs of the kernel`] = microseconds
    }
    return figures
  }

  /** Millions of entries a second from `ranges` scans of `limit` entries each, results read back. */
  async #scans(ranges: number, limit: number): Promise<number> {
    const { keyWords } = treeShape(this.#shape)
    const { keys } = sampledKeys(keyWords, this.#count, ranges)
    const seconds: number[] = []
    let entries = 0
    await warmUp(this.#device, this.#primitives)
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const start = performance.now()
      const { offsets } = await this.#reader.scan.run(
        { arena: this.#arena! },
        { ranges, limit },
        { from: { bytes: keys, width: 4 * keyWords } },
      )
      seconds.push((performance.now() - start) / 1000)
      entries = offsets[ranges]!
    }
    return entries / median(seconds) / 1e6
  }

  /** Millions of scans a second whose results stay on the device. */
  async #writtenScans(ranges: number, limit: number): Promise<number> {
    const { keyWords } = treeShape(this.#shape)
    const { keys } = sampledKeys(keyWords, this.#count, ranges)
    const from = { bytes: keys, width: 4 * keyWords }
    const seconds: number[] = []
    await warmUp(this.#device, this.#primitives)
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const scratch = this.#device.scratch()
      const recorder = this.#device.record()
      this.#reader.scan.record({ recorder, scratch, arena: this.#arena! }, { ranges, from, limit })
      await this.#device.gpu.queue.onSubmittedWorkDone()
      const start = performance.now()
      recorder.submit()
      await this.#device.gpu.queue.onSubmittedWorkDone()
      seconds.push((performance.now() - start) / 1000)
      scratch.release()
    }
    return ranges / median(seconds) / 1e6
  }

  /** Millions of scans a second by what their kernels take alone; 0 where the device has no time. */
  async #scanKernels(ranges: number, limit: number): Promise<number> {
    const { keyWords } = treeShape(this.#shape)
    const { keys } = sampledKeys(keyWords, this.#count, ranges)
    const from = { bytes: keys, width: 4 * keyWords }
    await warmUp(this.#device, this.#primitives)
    const kernels = await profiled(this.#device, async () => {
      for (let repeat = 0; repeat < REPEATS; repeat++) {
        const scratch = this.#device.scratch()
        const recorder = this.#device.record()
        this.#reader.scan.record({ recorder, scratch, arena: this.#arena! }, { ranges, from, limit })
        recorder.submit()
        await this.#device.gpu.queue.onSubmittedWorkDone()
        scratch.release()
      }
    })
    const all = (kernels ?? []).reduce((sum, { microseconds }) => sum + microseconds, 0)
    return all === 0 ? 0 : (ranges * REPEATS) / all
  }

  async #time(record: (recorder: Recorder) => void): Promise<number> {
    const seconds: number[] = []
    await warmUp(this.#device, this.#primitives)
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const recorder = this.#device.record()
      record(recorder)
      const start = performance.now()
      recorder.submit()
      await this.#device.gpu.queue.onSubmittedWorkDone()
      seconds.push((performance.now() - start) / 1000)
    }
    return median(seconds)
  }
}

await measureForParent(import.meta.url, measure)
