import t, { type Test } from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import { asBytes, type Column, columnFrom, columnOf } from '../../../protocol/columns.js'
import { ResultCode, WriteOp } from '../../../protocol/types.js'
import { reads } from '../../reads.js'
import { prepareBatch } from '../../writes.js'
import { openDevice } from '../open-device.js'

let device: Device
t.before(async () => {
  device = await openDevice(t)
})

function openTree(): Promise<PrefixTree> {
  return PrefixTree.create(device, { keyType: 'bytes', payloadBytes: 4, unique: true, matchFrom: 0 })
}

async function insert(t: Test, tree: PrefixTree, keys: readonly Uint8Array[]): Promise<void> {
  const { bytes, offsets } = columnOf(keys)
  const payloads = asBytes(Uint32Array.from(keys, (_, i) => i))
  const prepared = await prepareBatch(tree, {
    ops: WriteOp.insert,
    keys: bytes,
    keyOffsets: offsets,
    payloads,
  })
  prepared.apply()
  const wrong = prepared.codes.findIndex((code) => code !== ResultCode.inserted)
  t.equal(wrong, -1, 'all are new')
}

/** The payloads of keys, or undefined where there is none. */
async function lookUp(tree: PrefixTree, keys: readonly Uint8Array[]): Promise<(number | undefined)[]> {
  const { bytes, offsets } = columnOf(keys)
  const { found, payloads } = await reads(tree).get(bytes, offsets)
  const words = new Uint32Array(payloads.slice().buffer)
  return keys.map((_, i) => ((found[i >> 3]! >> (i & 7)) & 1 ? words[i] : undefined))
}

async function scanAll(tree: PrefixTree, reverse = false): Promise<Column> {
  const { keys, keyOffsets } = await reads(tree).scan({ ranges: 1, limit: 200_000, reverse })
  return columnFrom(keys, undefined, keyOffsets)
}

function sorted(keys: readonly Uint8Array[]): Column {
  return columnOf(keys.toSorted(Buffer.compare))
}

t.test('keys that are prefixes of others, empty ones, and zeros', async (t) => {
  const tree = await openTree()
  const texts = ['', '\0', '\0\0', '\0a', 'a', 'a\0', 'a\0b', 'aa', 'ab', 'b', '\xff', '\xff\xff', '\xff\0']
  const keys = texts.map((text) => Buffer.from(text, 'latin1'))
  await insert(t, tree, keys)
  t.same(
    await lookUp(tree, keys),
    keys.map((_, i) => i),
  )
  t.same(
    await lookUp(
      tree,
      ['a\0\0', 'aaa', 'ac', '\0\0\0', '\x01'].map((text) => Buffer.from(text, 'latin1')),
    ),
    Array(5).fill(undefined),
  )
  t.same(await scanAll(tree), sorted(keys))
  tree.destroy()
})

t.test('keys that differ only in the last bit of 4 KiB', async (t) => {
  const tree = await openTree()
  const keys = [0, 1, 2, 3].map((last) => {
    const key = new Uint8Array(4096).fill(0x61)
    key[4095] = last
    return key
  })
  await insert(t, tree, [keys[2]!, keys[0]!])
  t.same(await lookUp(tree, keys), [1, undefined, 0, undefined])
  await insert(t, tree, [keys[3]!, keys[1]!])
  t.same(await lookUp(tree, keys), [1, 1, 0, 0])
  t.same(await scanAll(tree), sorted(keys))
  tree.destroy()
})

t.test('a batch that leaves the tree above a node, below it, and goes through it', async (t) => {
  const tree = await openTree()
  const head = 'shared-by-all-of-the-first-batch-'
  const first = ['k', 'm', 'p'].map((end) => Buffer.from(head + end))
  await insert(t, tree, first)
  const second = [`a${head}`, `${head.slice(0, 20)}!`, `${head}l`, `${head}z`, `${head.slice(0, 20)}~`, 'z']
  await insert(
    t,
    tree,
    second.map((text) => Buffer.from(text)),
  )
  const all = [...first, ...second.map((text) => Buffer.from(text))]
  t.same(await lookUp(tree, all), [0, 1, 2, 0, 1, 2, 3, 4, 5])
  t.same(await scanAll(tree), sorted(all))
  tree.destroy()
})

t.test('a chain of keys, each a prefix of the next, deeper than any stack', async (t) => {
  const tree = await openTree()
  const keys = Array.from({ length: 1000 }, (_, i) => new Uint8Array(i).fill(0x61))
  const even = keys.filter((_, i) => i % 2 === 0)
  const odd = keys.filter((_, i) => i % 2 === 1)
  await insert(t, tree, odd.toReversed())
  await insert(t, tree, even)
  t.same(await scanAll(tree), sorted(keys))
  const { bytes, offsets } = columnOf(odd)
  const removed = await prepareBatch(tree, { ops: WriteOp.deleteKey, keys: bytes, keyOffsets: offsets })
  removed.apply()
  t.same(await scanAll(tree), sorted(even))
  await tree.compact()
  t.same(await scanAll(tree), sorted(even))
  t.same(
    (await lookUp(tree, odd)).filter((payload) => payload !== undefined),
    [],
  )
  tree.destroy()
})

t.test('20,000 keys that share 4,000 bytes', async (t) => {
  const tree = await openTree()
  const count = 20_000
  const head = Buffer.alloc(4000, 'x')
  const batch = 10_000
  let keyBytes = 0
  for (let first = 0; first < count; first += batch) {
    const keys = Array.from({ length: batch }, (_, i) =>
      Buffer.concat([head, Buffer.from(((first + i) * 7919).toString(36))]),
    )
    keyBytes += keys.reduce((sum, { length }) => sum + length, 0)
    await insert(t, tree, keys)
  }
  const { keys, usedBytes } = tree.stats()
  t.equal(keys, count)
  t.ok(usedBytes <= 2 * keyBytes, `${usedBytes} bytes for ${keyBytes} bytes of keys`)
  const some = [0, 1, 10_000, 19_999].map((i) => Buffer.concat([head, Buffer.from((i * 7919).toString(36))]))
  t.same(await lookUp(tree, some), [0, 1, 0, batch - 1])
  tree.destroy()
})

t.test(
  'a batch that is larger than the tree, and leaves it at tuples and at skipped digits alike',
  async (t) => {
    for (const count of [3, 16, 250, 500]) {
      const tree = await openTree()
      const heads = Array.from({ length: count }, (_, i) => i.toString(36).padStart(4, '0'))
      const first = heads.flatMap((head) => [`${head}pppp1`, `${head}pppp2`])
      const second = heads.flatMap((head) => [`${head}pppp1x`, `${head}pppp2x`, `${head}q`])
      const keys = [...first, ...second].map((text) => Buffer.from(text))
      await insert(t, tree, keys.slice(0, first.length))
      await insert(t, tree, keys.slice(first.length))
      t.same(await lookUp(tree, keys), [...first.keys(), ...second.keys()])
      t.same(await scanAll(tree), sorted(keys))
      tree.destroy()
    }
  },
)

t.test('keys whose bytes add up to more than can be counted', async (t) => {
  const tree = await openTree()
  await insert(t, tree, [new Uint8Array(4096).fill(1)])
  for (const count of [2 ** 20, 2 ** 20 - 1]) {
    const next = reads(tree).getNext({ keys: new Uint8Array(0), keyOffsets: new Uint32Array(count + 1) })
    await t.rejects(next, { code: 'TOO_LARGE', message: /ask for fewer/ })
  }
  tree.destroy()
})
