import type { Device } from '../gpu/device/device.js'
import { treeShape } from '../gpu/index/layout.js'
import type { IndexShape, ReadColumns, ScanOptions } from '../gpu/index-structure.js'
import { type Column, sliceColumn } from '../protocol/columns.js'
import { LIMITS } from '../protocol/limits.js'
import { SEQUENCE_BYTES, WriteOp } from '../protocol/types.js'
import { type KeyBlob, pickKeys, sampledKeys, scatteredKeys, urlKeys } from './keys.js'
import { OrderedTree } from './ordered-tree.js'
import { median, type Row } from './report.js'

interface Case {
  readonly name: string
  readonly shape: IndexShape
  /** Logarithm of the largest tree. */
  readonly largest: number
}

const CASES: readonly Case[] = [
  { name: 'u32', shape: { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 }, largest: 32 },
  { name: 'u64', shape: { keyType: 'u64', payloadBytes: 8, unique: true, matchFrom: 0 }, largest: 32 },
  // More would not fit into one JavaScript string.
  { name: 'URLs', shape: { keyType: 'string', payloadBytes: 4, unique: true, matchFrom: 0 }, largest: 22 },
]

const SCAN_LIMITS = [1, 10, 100, 1000]
const RANGES = [2 ** 14, 2 ** 17, 2 ** 20]
const REPEATS = 5
/** Batches of one size that are deleted in the end. */
const DELETES = 3

/** How much is asked for, by adapter. */
const SCALES = {
  hardware: { entries: 2 ** 22, batches: 64, positions: 2 ** 20 },
  software: { entries: 2 ** 16, batches: 8, positions: 2 ** 12 },
}

/** Trees of the same keys, with and without links between tuples. */
type Pair = readonly [plain: OrderedTree, linked: OrderedTree]

/**
 * Reads in key order by following links from tuple to tuple (Volk §4.1) against walking through the nodes, and what it costs to keep
 * the links. Trees are built in a random order of keys, batch by batch, and then compacted, after which tuples lie in key order.
 * `walk` is the search alone; `scan` is a whole scan with its results read back, in the form that is chosen without links.
 * @param logarithms sizes of the trees as powers of two
 */
export async function benchOrder(device: Device, logarithms: readonly number[]): Promise<Row[]> {
  const rows: Measured = { writes: [], scans: [], nexts: [] }
  for (const { name, shape, largest } of CASES) {
    const sizes = new Set(logarithms.map((logarithm) => Math.min(logarithm, largest)))
    for (const logarithm of sizes) {
      const bench = await OrderBench.create(device, `${name}, 2^${logarithm}`, shape, 2 ** logarithm)
      await bench.run(rows)
      bench.destroy()
    }
  }
  return [...rows.writes, ...rows.scans, ...rows.nexts]
}

type Measured = Record<'writes' | 'scans' | 'nexts', Row[]>

class OrderBench {
  readonly #name: string
  readonly #count: number
  readonly #keys: Column
  readonly #trees: Pair
  readonly #scale: (typeof SCALES)[keyof typeof SCALES]

  private constructor(
    name: string,
    count: number,
    keys: Column,
    trees: Pair,
    scale: (typeof SCALES)[keyof typeof SCALES],
  ) {
    this.#name = name
    this.#count = count
    this.#keys = keys
    this.#trees = trees
    this.#scale = scale
  }

  static async create(device: Device, name: string, shape: IndexShape, count: number): Promise<OrderBench> {
    const keys = keysOf(shape, count)
    const create = (linked: boolean) =>
      OrderedTree.create(device, { ...shape, linked }, count, keys.bytes.byteLength)
    const trees = [await create(false), await create(true)] as const
    return new OrderBench(name, count, keys, trees, SCALES[device.facts.software ? 'software' : 'hardware'])
  }

  async run({ writes, scans, nexts }: Measured): Promise<void> {
    const inserts = await this.#insert()
    const [plain, linked] = this.#trees
    const bytes = { 'B/key': plain.bytesPerKey, 'B/key with links': linked.bytesPerKey }
    await this.#read('fresh', scans, nexts)
    for (const tree of this.#trees) await tree.compact()
    await this.#read('compacted', scans, nexts)
    writes.push(log({ name: this.#name, figures: { ...inserts, ...(await this.#delete()), ...bytes } }))
  }

  destroy(): void {
    for (const tree of this.#trees) tree.destroy()
  }

  /** Inserts all keys. The second half of the batches counts, when trees are large. */
  async #insert(): Promise<Row['figures']> {
    const { batches } = this.#scale
    const seconds: [number, number][] = []
    for (let batch = 0; batch < batches; batch++) seconds.push(await this.#write(WriteOp.insert, batch))
    return rates('insert Mkeys/s', this.#count / batches, seconds.slice(batches / 2))
  }

  async #delete(): Promise<Row['figures']> {
    const seconds: [number, number][] = []
    for (let batch = 0; batch < DELETES; batch++) seconds.push(await this.#write(WriteOp.deleteKey, batch))
    return rates('delete Mkeys/s', this.#count / this.#scale.batches, seconds)
  }

  #write(ops: WriteOp, batch: number): Promise<[number, number]> {
    const size = this.#count / this.#scale.batches
    const keys = sliceColumn(this.#keys, batch * size, (batch + 1) * size)
    return this.#both((tree) => tree.write(ops, keys))
  }

  async #read(state: string, scans: Row[], nexts: Row[]): Promise<void> {
    for (const limit of SCAN_LIMITS) {
      for (const ranges of rangesOf(limit, Math.min(this.#scale.entries, mostEntries(this.#keys)))) {
        const name = `${this.#name}, ${state}, ${ranges} × ${limit}`
        scans.push(log({ name, figures: await this.#scans(ranges, limit) }))
      }
    }
    const positions = this.#sample(this.#scale.positions)
    const next = (reverse: boolean) =>
      this.#repeat(() => this.#both((tree) => tree.getNext(positions, reverse)))
    const name = `${this.#name}, ${state}, ${this.#scale.positions} positions`
    const figures = {
      ...rates('getNext Mkeys/s', this.#scale.positions, await next(false)),
      ...rates('reverse', this.#scale.positions, await next(true)),
    }
    nexts.push(log({ name, figures }))
  }

  async #scans(ranges: number, limit: number): Promise<Row['figures']> {
    const keys = this.#sample(ranges)
    const forward = { ranges, limit, from: keys }
    const backward = { ranges, limit, to: keys, reverse: true }
    const walk = (request: ScanOptions & ReadColumns) =>
      this.#repeat(() => this.#both((tree) => tree.walk(request)))
    const entries = ranges * limit
    return {
      ...rates('walk Mentries/s', entries, await walk(forward)),
      ...rates('reverse', entries, await walk(backward)),
      ...rates('scan', entries, await this.#repeat(() => this.#scanBoth(forward))),
    }
  }

  /** A scan in the form that the tree without links chooses, against a walk along the links. */
  async #scanBoth(request: ScanOptions & ReadColumns): Promise<[number, number]> {
    const [plain, linked] = this.#trees
    const expected = await plain.scan(request)
    const found = await linked.scan(request, 'walk')
    if (Buffer.compare(found.keys, expected.keys) !== 0)
      throw new Error(`${this.#name}: links lead elsewhere`)
    return [expected.seconds, found.seconds]
  }

  async #both(time: (tree: OrderedTree) => Promise<number>): Promise<[number, number]> {
    const [plain, linked] = this.#trees
    return [await time(plain), await time(linked)]
  }

  /** The first time warms up. */
  async #repeat(time: () => Promise<[number, number]>): Promise<[number, number][]> {
    const seconds: [number, number][] = []
    for (let repeat = 0; repeat <= REPEATS; repeat++) seconds.push(await time())
    return seconds.slice(1)
  }

  /** Some of the tree's keys. */
  #sample(count: number): Column {
    const { shape } = this.#trees[0]
    const { offsets, bytes } = this.#keys
    if (offsets !== undefined) return pickKeys({ offsets, bytes }, this.#count, count)
    const { keyWords } = treeShape(shape)
    return { bytes: sampledKeys(keyWords, this.#count, count).keys, width: 4 * keyWords }
  }
}

function keysOf(shape: IndexShape, count: number): Column {
  const { form, keyWords } = treeShape(shape)
  const blob: KeyBlob | undefined = form && urlKeys(count)
  return blob ?? { bytes: scatteredKeys(keyWords, 0, count), width: 4 * keyWords }
}

/** Entries that a scan can find without a result that is too large, be they one a range with a token each. */
function mostEntries({ offsets }: Column): number {
  if (offsets === undefined) return Number.POSITIVE_INFINITY
  const longest = offsets.reduce((most, end, i) => Math.max(most, end - (offsets[i - 1] ?? 0)), 0)
  return LIMITS.frameBytes / (longest + SEQUENCE_BYTES)
}

/** Numbers of ranges to scan with a limit: the usual ones, or one that is as large as can be. */
function rangesOf(limit: number, entries: number): number[] {
  const usual = RANGES.filter((ranges) => ranges * limit <= entries)
  return usual.length > 0 ? usual : [2 ** Math.floor(Math.log2(entries / limit))]
}

/** Millions a second without and with links, and how many times as many that is. */
function rates(name: string, count: number, seconds: readonly [number, number][]): Row['figures'] {
  const plain = count / median(seconds.map(([without]) => without)) / 1e6
  const linked = count / median(seconds.map(([, by]) => by)) / 1e6
  return { [name]: plain, [`${name} with links`]: linked, [`${name} ratio`]: linked / plain }
}

function log(row: Row): Row {
  console.log(`${row.name}: ${JSON.stringify(row.figures)}`)
  return row
}
