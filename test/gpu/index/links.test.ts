import t, { type Test } from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import { SLOTS, treeShape } from '../../../gpu/index/layout.js'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import type { IndexShape, IndexStructure, WriteBatch } from '../../../gpu/index-structure.js'
import {
  blankColumn,
  type Column,
  columnFrom,
  columnOf,
  concatenate,
  countOf,
  valuesOf,
} from '../../../protocol/columns.js'
import { isFixedKeyType, type KeyType, keyWidth, WriteOp } from '../../../protocol/types.js'
import { ranksOf } from '../../fixed-keys.js'
import { openKeySpace } from '../../key-space.js'
import { ModelStructure } from '../../model-structure.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { prepareBatch } from '../../writes.js'
import { openDevice } from '../open-device.js'
import { orderedBits } from './host-tree.js'
import { treeSubject } from './tree-subject.js'

const plain = { payloadBytes: 4, matchFrom: 0, linked: true } as const
const SHAPES: readonly IndexShape[] = [
  { ...plain, keyType: 'u32', unique: false },
  { ...plain, keyType: 'i64', unique: true },
  { ...plain, keyType: 'f64', unique: true, layout: 'full' },
  { ...plain, keyType: 'u64', unique: false, partitionLevels: 3 },
  { ...plain, keyType: 'string', unique: false },
  { ...plain, keyType: 'bytes', unique: true, layout: 'full' },
  { ...plain, keyType: 'tuple(u32,string)', unique: false },
]

const NEXT = 0
const PREVIOUS = 1

/** Tags of slots and their references, as in `layout.wesl`. */
const TAG = 0xc0000000
const TUPLE = 0x80000000
const REFERENCE = 0x3fffffff

let device: Device
t.before(async () => {
  device = await openDevice(t)
})

/** A tree with links beside a model of it. */
class LinkedTree {
  readonly shape: IndexShape
  readonly #model: ModelStructure
  #tree: IndexStructure

  private constructor(tree: IndexStructure) {
    this.shape = tree.shape
    this.#tree = tree
    this.#model = new ModelStructure(tree.shape)
  }

  static async create(shape: IndexShape): Promise<LinkedTree> {
    return new LinkedTree(await PrefixTree.create(device, shape))
  }

  async write(ops: WriteBatch['ops'], keys: Column): Promise<void> {
    const batch = { ops, keys, payloads: blankColumn(countOf(keys), this.shape.payloadBytes) }
    for (const structure of [this.#tree, this.#model]) (await structure.prepare(batch)).apply()
  }

  async compact(): Promise<void> {
    await treeSubject(device).compact(this.#tree)
  }

  async reload(): Promise<void> {
    const reloaded = await treeSubject(device).reload(this.#tree)
    this.#tree.destroy()
    this.#tree = reloaded
  }

  destroy(): void {
    this.#tree.destroy()
  }

  /** All keys in ascending order, each once. */
  async keys(): Promise<Uint8Array[]> {
    const width = keyWidth(this.shape.keyType)
    const { keys: bytes, keyOffsets: offsets } = await this.#model.scan({ ranges: 1, limit: 1e6 })
    const all = valuesOf(columnFrom(bytes, width, offsets))
    return all.filter((key, i) => i === 0 || Buffer.compare(key, all[i - 1]!) !== 0)
  }

  /** Checks that the list on the device is the sorted keys from either end, and what scans that follow it answer. */
  async check(t: Test, what: string): Promise<void> {
    const expected = (await this.keys()).map((key) => readable(this.shape.keyType, key))
    const list = await KeyList.read(this.#tree)
    t.same(list.keys(NEXT), expected, `${what}: forward`)
    t.same(list.keys(PREVIOUS), expected.toReversed(), `${what}: backward`)
    for (const reverse of [false, true]) {
      const request = { ranges: 1, limit: 100, reverse }
      const { tokens: _a, tokenOffsets: _b, ...ours } = await reads(this.#tree).scan(request)
      const { tokens: _c, tokenOffsets: _d, ...theirs } = await this.#model.scan(request)
      t.same(ours, theirs, `${what}: scan${reverse ? ' reverse' : ''}`)
    }
  }
}

/** A tree's list of keys, read back from the device. */
class KeyList {
  readonly #shape: IndexShape
  readonly #parts: ReadonlyMap<string, Uint8Array>

  private constructor(shape: IndexShape, parts: ReadonlyMap<string, Uint8Array>) {
    this.#shape = shape
    this.#parts = parts
  }

  static async read(tree: IndexStructure): Promise<KeyList> {
    const image = await tree.image()
    const parts = new Map<string, Uint8Array>()
    for (const { name, chunks } of image.parts) {
      const read: Uint8Array[] = []
      for await (const chunk of chunks) read.push(chunk.slice())
      parts.set(name, concatenate(read))
    }
    return new KeyList(tree.shape, parts)
  }

  /** The keys along the links, from the first or the last one in the tree. */
  keys(direction: typeof NEXT | typeof PREVIOUS): string[] {
    const links = this.#words('links')
    const keys: string[] = []
    let number = this.#outermost(direction)
    // No list is longer than there are tuples, unless it goes round in circles.
    while (number !== 0 && keys.length <= links.length / 2) {
      keys.push(this.#key(number - 1))
      number = links[2 * (number - 1) + direction]!
    }
    return keys
  }

  /** The number, plus one, of the tuple in the outermost slots; 0 in an empty tree. */
  #outermost(direction: typeof NEXT | typeof PREVIOUS): number {
    const nodes = this.#words('nodes')
    for (let node = 0; nodes.length > 0; ) {
      const slots = nodes.subarray(node * SLOTS, (node + 1) * SLOTS)
      const used = (slot: number) => slot !== 0
      const slot = direction === NEXT ? slots.find(used) : slots.findLast(used)
      if (slot === undefined) return 0
      if ((slot & TAG) >>> 0 === TUPLE) return (slot & REFERENCE) + 1
      node = slot & REFERENCE
    }
    return 0
  }

  #key(tuple: number): string {
    const { form, keyWords, tupleStride } = treeShape(this.#shape)
    const at = tuple * tupleStride
    const [low, high] = this.#words('tuples').subarray(at, at + 2)
    if (form === undefined) return (BigInt(low!) | (keyWords === 2 ? BigInt(high!) << 32n : 0n)).toString(16)
    const encodedBytes = (high! & 0x7fffffff) >>> 16
    const encoded = Buffer.from(this.#parts.get('heap')!).subarray(4 * low!)
    const bytes = Buffer.from(encoded.subarray(0, Math.ceil(encodedBytes / 4) * 4))
      .swap32()
      .subarray(0, encodedBytes)
    if (form === 'raw') return bytes.toString('latin1')
    return bytes.subarray(0, -2).toString('latin1').replaceAll('\0\xff', '\0')
  }

  #words(name: string): Uint32Array {
    const { buffer, byteOffset, byteLength } = this.#parts.get(name) ?? new Uint8Array()
    return new Uint32Array(buffer, byteOffset, byteLength / 4)
  }
}

function readable(type: KeyType, key: Uint8Array): string {
  if (!isFixedKeyType(type)) return Buffer.from(key).toString('latin1')
  return orderedBits(type, ranksOf(type, key)[0]!).toString(16)
}

for (const shape of SHAPES) {
  const { keyType } = shape
  const name = `${shape.layout ?? 'compact'} over ${keyType}`

  t.test(`${name}: neighbours, both ends and all keys come and go`, async (t) => {
    const seed = seedOfRun()
    t.comment(`TEST_SEED=${seed}`)
    const random = new Random(seed)
    const linked = await LinkedTree.create(shape)
    const keySpace = openKeySpace(random, keyType)
    const first = keySpace.column(150)
    await linked.write(WriteOp.insert, first)
    await linked.check(t, 'first batch')
    await linked.write(WriteOp.insert, keySpace.column(400))
    await linked.check(t, 'second batch')

    const sorted = await linked.keys()
    const write = (ops: WriteBatch['ops'], keys: readonly Uint8Array[]) =>
      linked.write(ops, columnOf(keys, keyWidth(keyType)))
    const middle = sorted.slice(sorted.length >> 2, sorted.length >> 1)
    await write(WriteOp.deleteKey, middle)
    await linked.check(t, 'neighbours deleted')
    await write(WriteOp.deleteKey, [sorted[0]!, sorted.at(-1)!])
    await linked.check(t, 'both ends deleted')
    await write(WriteOp.insert, [...middle.slice(1, 4), sorted[0]!, sorted.at(-1)!])
    await linked.check(t, 'both ends and some in the middle inserted')

    // Whatever is there goes but every seventh; whatever is not comes.
    const ops = sorted.map((key, i) => {
      if (i % 7 === 0) return WriteOp.insert
      return middle.slice(4).includes(key) ? WriteOp.insert : WriteOp.deleteKey
    })
    await write(Uint8Array.from(ops), sorted)
    await linked.check(t, 'inserted and deleted in one batch')
    await linked.compact()
    await linked.check(t, 'compacted')
    await write(WriteOp.insert, sorted)
    await linked.check(t, 'all inserted after compaction')
    await linked.reload()
    await linked.check(t, 'reloaded')
    await write(WriteOp.deleteKey, sorted.slice(1, -1))
    await linked.check(t, 'all but the ends deleted')
    await write(WriteOp.deleteKey, sorted)
    await linked.check(t, 'all deleted')
    await linked.write(WriteOp.insert, first)
    await linked.check(t, 'inserted into what was emptied')
    linked.destroy()
  })
}

t.test('after random batches', async (t) => {
  let seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const ops = [WriteOp.insert, WriteOp.insert, WriteOp.deleteKey]
  for (const shape of SHAPES) {
    const random = new Random(seed)
    t.comment(`seed ${seed++}: ${JSON.stringify(shape)}`)
    const linked = await LinkedTree.create(shape)
    const keySpace = openKeySpace(random, shape.keyType)
    for (let step = 0; step < 5; step++) {
      const count = random.pick([1, 2, 40, 300, 600])
      await linked.write(
        Uint8Array.from({ length: count }, () => random.pick(ops)),
        keySpace.column(count),
      )
      if (random.chance(0.2)) await linked.compact()
      if (random.chance(0.2)) await linked.reload()
      await linked.check(t, `step ${step}`)
    }
    linked.destroy()
  }
})

t.test('links take memory only where they are asked for', async (t) => {
  const bytes: number[] = []
  for (const linked of [false, true]) {
    const tree = await PrefixTree.create(device, { ...plain, keyType: 'u32', unique: true, linked })
    const keys = new Uint8Array(Uint32Array.from({ length: 1000 }, (_, i) => i * 7919).buffer)
    const prepared = await prepareBatch(tree, { ops: WriteOp.insert, keys, payloads: keys })
    prepared.apply()
    bytes.push(tree.stats().usedBytes)
    tree.destroy()
  }
  t.equal(bytes[1]! - bytes[0]!, 8 * 1000)
})
