import t, { type Test } from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import type { IndexShape } from '../../../gpu/index-structure.js'
import { asBytes, type Column, columnOf, countOf, pickValues } from '../../../protocol/columns.js'
import { WriteOp } from '../../../protocol/types.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { countCreations } from '../creations.js'
import { openDevice } from '../open-device.js'

/**
 * Keys of the two batches that fill an index: with the second its regions double, so that they have room for all rounds. Those of the first get
 * another payload, so that the payload extents double in the first round.
 */
const FIRST = 1400
const KEYS = 2200

/** Keys of a batch of reads and of one of writes, ranges of a scan. */
const READ = 200
const WRITTEN = 12
const RANGES = 20

const OVERLAPPING = 8
const WARM_UP = 4
const ROUNDS = 20

const SHAPES: readonly IndexShape[] = [
  { keyType: 'string', payloadBytes: 4, unique: false, matchFrom: 0, structure: 'prefix' },
  { keyType: 'u64', payloadBytes: 8, unique: false, matchFrom: 0, structure: 'css' },
]
t.test('work that is like earlier work creates nothing on the device', async (t) => {
  const device = await openDevice(t)
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  for (const shape of SHAPES) {
    const index = await Index.fill(device, shape, new Random(seed))
    const name = `${shape.structure} ${shape.keyType}`
    const written = index.someKeys(WRITTEN)
    await createsNothing(t, device, index, `${name}, one after the other`, () => index.useAll(written))
    await createsNothing(t, device, index, `${name}, at once`, () => index.readAtOnce())
    t.equal(index.tree.stats().keys, KEYS, `${name}: as many keys as before`)
    index.tree.destroy()
  }
})

/** Regions that grow would be no fault; the sizes above keep them from it. */
async function createsNothing(
  t: Test,
  device: Device,
  { tree }: Index,
  name: string,
  round: () => Promise<void>,
): Promise<void> {
  for (let i = 0; i < WARM_UP; i++) await round()
  const { deviceBytes } = tree.stats()
  const made = countCreations(device)
  for (let i = 0; i < ROUNDS; i++) await round()
  t.equal(tree.stats().deviceBytes, deviceBytes, `${name}: nothing grows`)
  for (const [maker, times] of Object.entries(made)) t.equal(times, 0, `${name}: ${maker}`)
}

class Index {
  readonly tree: PrefixTree
  readonly #keys: Column
  readonly #random: Random

  private constructor(tree: PrefixTree, keys: Column, random: Random) {
    this.tree = tree
    this.#keys = keys
    this.#random = random
  }

  static async fill(device: Device, shape: IndexShape, random: Random): Promise<Index> {
    const tree = await PrefixTree.create(device, shape)
    const index = new Index(tree, distinctKeys(shape, random), random)
    await index.#write(WriteOp.insert, index.#keysFrom(0, FIRST))
    await index.#write(WriteOp.insert, index.#keysFrom(FIRST, KEYS - FIRST))
    await index.#write(WriteOp.insert, index.#keysFrom(0, FIRST), 2)
    return index
  }

  /** All of them have two payloads, so that what is read is as long as before. */
  someKeys(count: number): Column {
    return this.#keysFrom(this.#random.below(FIRST - count), count)
  }

  /** Every operation, one after the other; the index is as large afterwards as before. */
  async useAll(written: Column): Promise<void> {
    await this.#write(WriteOp.replace, written)
    await this.#write(WriteOp.deleteKey, written)
    await this.#write(WriteOp.insert, written)
    await this.#write(WriteOp.insert, written, 1)
    await this.#write(WriteOp.deletePair, written, 1)
    for (const read of this.#reads()) await read()
  }

  async readAtOnce(): Promise<void> {
    const get = () => this.#get()
    const reads = [...Array.from({ length: OVERLAPPING }, () => get), ...this.#reads()]
    await Promise.all(reads.map((read) => read()))
  }

  #reads(): (() => Promise<unknown>)[] {
    const { tree } = this
    const { bytes: keys, offsets: keyOffsets } = this.someKeys(READ)
    const { bytes: from, offsets: fromOffsets } = this.someKeys(RANGES)
    return [
      () => this.#get(),
      () => reads(tree).getAll(keys, 2 * READ, keyOffsets),
      () => reads(tree).count(keys, keyOffsets),
      () => reads(tree).getNext({ keys, keyOffsets }),
      () => reads(tree).scan({ ranges: RANGES, from, fromOffsets, limit: 10 }),
    ]
  }

  #get(): Promise<unknown> {
    const { bytes, offsets } = this.someKeys(READ)
    return reads(this.tree).get(bytes, offsets)
  }

  #keysFrom(first: number, count: number): Column {
    return pickValues(
      this.#keys,
      Uint32Array.from({ length: count }, (_, i) => first + i),
    )
  }

  /** @param payload the last byte of all payloads */
  async #write(ops: WriteOp, keys: Column, payload = 0): Promise<void> {
    const { payloadBytes: width } = this.tree.shape
    const payloads = { bytes: new Uint8Array(countOf(keys) * width).fill(payload), width }
    const prepared = await this.tree.prepare({ ops, keys, payloads })
    prepared.apply()
  }
}

/** URLs of one site, or numbers. */
function distinctKeys({ keyType }: IndexShape, random: Random): Column {
  const numbers = new Set<number>()
  while (numbers.size < KEYS) numbers.add(random.word())
  if (keyType === 'u64') {
    return { bytes: asBytes(BigUint64Array.from(numbers, (number) => BigInt(number) << 20n)), width: 8 }
  }
  return columnOf(Array.from(numbers, (number) => Buffer.from(`https://warpdex.example/pages/${number}`)))
}
