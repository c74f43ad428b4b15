import t from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { EXTENT_HEADER } from '../../../gpu/index/layout.js'
import { PrefixTree } from '../../../gpu/index/prefix-tree.js'
import type { RegionStats } from '../../../gpu/index-structure.js'
import type { Structure } from '../../../protocol/traversal.js'
import { type KeyType, ResultCode, WriteOp } from '../../../protocol/types.js'
import { reads } from '../../reads.js'
import { prepareBatch } from '../../writes.js'
import { openDevice } from '../open-device.js'

/** Where the number of a key's next payload lies in its extent. */
const NEXT_SEQUENCE = 3
const { inserted, replaced, exists, deleted, notFound, notANumber } = ResultCode

function bytes(column: ArrayBufferView): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
}

function words(column: Uint8Array): number[] {
  return [...new Uint32Array(column.slice().buffer)]
}

function u32(...values: number[]): Uint8Array {
  return bytes(Uint32Array.from(values))
}

async function write(
  tree: PrefixTree,
  ops: WriteOp | WriteOp[],
  keys: Uint8Array,
  payloads = keys,
): Promise<number[]> {
  const prepared = await prepareBatch(tree, {
    ops: typeof ops === 'number' ? ops : Uint8Array.from(ops),
    keys,
    payloads,
  })
  prepared.apply()
  return [...prepared.codes]
}

async function scanAll(tree: PrefixTree, reverse = false): Promise<number[]> {
  const { keys } = await reads(tree).scan({ ranges: 1, limit: 1_000_000, reverse })
  return words(keys)
}

/** What every index must do whatever its structure: the cases that break such trees. */
export function testCases(structure: Structure): void {
  let device: Device
  t.before(async () => {
    device = await openDevice(t)
  })

  function openTree(unique = false, keyType: KeyType = 'u32'): Promise<PrefixTree> {
    return PrefixTree.create(device, { keyType, payloadBytes: 4, unique, matchFrom: 0, structure })
  }

  t.test(
    'a resident lone key that a batch surrounds, precedes, follows, equals, or shares a long head with',
    async (t) => {
      const resident = 0x12345678
      const batches = [
        [0x12345677, 0x12345679],
        [0x12345677],
        [0x12345679],
        [0x12345678],
        [0x12345670, 0x12345671, 0x1234567f],
        [0x10000000, 0x1fffffff],
        [0x12345677, 0x12345678, 0x12345679, 0x22345678],
        [0, 0xffffffff],
      ]
      for (const batch of batches) {
        const tree = await openTree()
        await write(tree, WriteOp.insert, u32(resident))
        await write(tree, WriteOp.insert, u32(...batch))
        const all = [resident, ...batch].sort((a, b) => a - b)
        t.same(await scanAll(tree), all, batch.map((key) => key.toString(16)).join())
        t.same(await scanAll(tree, true), all.toReversed())
        t.same(
          [...(await reads(tree).get(u32(...new Set(all)))).found].length,
          Math.ceil(new Set(all).size / 8),
        )
        tree.destroy()
      }
    },
  )

  t.test('all children of a node are deleted, and a scan goes across it', async (t) => {
    const tree = await openTree()
    const inner = Array.from({ length: 64 }, (_, i) => 0x12340000 + i)
    await write(tree, WriteOp.insert, u32(1, ...inner, 0xf0000000))
    await write(tree, WriteOp.deleteKey, u32(...inner))
    t.same(await scanAll(tree), [1, 0xf0000000])
    t.same(await scanAll(tree, true), [0xf0000000, 1])
    const next = await reads(tree).getNext({ keys: u32(1, inner[5]) })
    t.same(words(next.keys), [0xf0000000, 0xf0000000])
    await write(tree, WriteOp.insert, u32(inner[7]))
    t.same(await scanAll(tree), [1, inner[7], 0xf0000000])
    tree.destroy()
  })

  t.test('a batch is applied as if its items came one after the other', async (t) => {
    const { insert, deleteKey, deletePair, replace, insertIfAbsent } = WriteOp
    const list = await openTree()
    await write(list, insert, u32(7), u32(1))
    const keys = u32(7, 7, 7, 8, 8, 9)
    const codes = await write(
      list,
      [deleteKey, insert, insert, deleteKey, insert, deletePair],
      keys,
      u32(0, 2, 3, 0, 4, 5),
    )
    t.same(codes, [deleted, inserted, inserted, notFound, inserted, notFound])
    t.same(words((await reads(list).getAll(u32(7, 8, 9), 10)).payloads), [2, 3, 4])
    const more = await write(
      list,
      [deletePair, insert, replace, insert, insertIfAbsent, deletePair],
      u32(7, 7, 8, 8, 8, 8),
      u32(2, 2, 9, 9, 1, 9),
    )
    t.same(more, [deleted, inserted, replaced, inserted, exists, deleted])
    t.same(words((await reads(list).getAll(u32(7, 8), 10)).payloads), [3, 2])
    list.destroy()

    const unique = await openTree(true)
    t.same(await write(unique, insert, u32(7, 7, 8), u32(1, 2, 3)), [inserted, exists, inserted])
    t.same(
      await write(
        unique,
        [deleteKey, insert, insert, deletePair, replace],
        u32(7, 7, 7, 8, 8),
        u32(0, 5, 6, 4, 9),
      ),
      [deleted, inserted, exists, notFound, replaced],
    )
    t.same(words((await reads(unique).get(u32(7, 8))).payloads), [5, 9])
    unique.destroy()
  })

  t.test('NaN is refused item by item; -0 and +0 are one key', async (t) => {
    const tree = await openTree(false, 'f32')
    const keys = bytes(Float32Array.of(-0, NaN, 0, -1.5, Infinity, -Infinity))
    t.same(await write(tree, WriteOp.insert, keys, u32(1, 2, 3, 4, 5, 6)), [
      inserted,
      notANumber,
      inserted,
      inserted,
      inserted,
      inserted,
    ])
    t.same(words(await reads(tree).count(bytes(Float32Array.of(0, -0, NaN)))), [2, 2, 0])
    const { keys: scanned } = await reads(tree).scan({ ranges: 1, limit: 100 })
    t.same([...new Float32Array(scanned.slice().buffer)], [-Infinity, -1.5, 0, 0, Infinity])
    tree.destroy()
  })

  t.test('a token goes on though its key or its payload was deleted in the meantime', async (t) => {
    for (const reverse of [false, true]) {
      const tree = await openTree()
      await write(tree, WriteOp.insert, u32(1, 5, 5, 5, 9), u32(10, 50, 51, 52, 90))
      const { tokens } = await reads(tree).scan({ ranges: 1, limit: 3, reverse })
      await write(tree, WriteOp.deletePair, u32(5), u32(51))
      const rest = await reads(tree).scan({ ranges: 1, limit: 10, reverse, tokens })
      t.same(words(rest.payloads), reverse ? [50, 10] : [52, 90], 'the payload is gone')
      await write(tree, WriteOp.deleteKey, u32(5))
      const after = await reads(tree).scan({ ranges: 1, limit: 10, reverse, tokens })
      t.same(words(after.payloads), reverse ? [10] : [90], 'the key is gone')
      await tree.compact()
      const compacted = await reads(tree).scan({ ranges: 1, limit: 10, reverse, tokens })
      t.same(words(compacted.payloads), reverse ? [10] : [90], 'and compaction changes nothing')
      tree.destroy()
    }
  })

  t.test(
    'a million payloads under one key: appends and deletes in their middle, scans from there in both directions',
    async (t) => {
      const tree = await openTree()
      const count = 1_000_000
      const batch = 250_000
      for (let first = 0; first < count; first += batch) {
        const payloads = Uint32Array.from({ length: batch }, (_, i) => first + i)
        await write(tree, WriteOp.insert, bytes(new Uint32Array(batch).fill(7)), bytes(payloads))
      }
      await write(tree, WriteOp.insert, u32(6, 8), u32(1, 2))
      t.same(words(await reads(tree).count(u32(7))), [count])

      const gone = Uint32Array.from({ length: 1000 }, (_, i) => count / 2 + 2 * i)
      const codes = await write(
        tree,
        WriteOp.deletePair,
        bytes(new Uint32Array(gone.length).fill(7)),
        bytes(gone),
      )
      t.same(
        codes,
        gone.map(() => deleted),
      )
      await write(tree, WriteOp.insert, u32(7), u32(count))
      t.same(words(await reads(tree).count(u32(7))), [count - gone.length + 1])

      const token = bytes(Uint32Array.of(7, count / 2 - 2))
      const forward = await reads(tree).scan({ ranges: 1, limit: 4, tokens: token })
      t.same(words(forward.payloads), [count / 2 - 1, count / 2 + 1, count / 2 + 3, count / 2 + 5])
      const backward = await reads(tree).scan({ ranges: 1, limit: 3, tokens: token, reverse: true })
      t.same(words(backward.payloads), [count / 2 - 3, count / 2 - 4, count / 2 - 5])
      const last = await reads(tree).scan({ ranges: 1, limit: 3, reverse: true })
      t.same(words(last.payloads), [2, count, count - 1])

      const expected = Array.from({ length: count + 1 }, (_, i) => i).filter(
        (i) => i < count / 2 || i >= count / 2 + 2000 || i % 2 === 1,
      )
      for (const when of ['before compaction', 'after it']) {
        const { payloads } = await reads(tree).getAll(u32(7), 2_000_000)
        t.ok(Buffer.compare(payloads, u32from(expected)) === 0, `every payload in order, ${when}`)
        await tree.compact()
      }
      tree.destroy()
    },
  )

  function u32from(values: readonly number[]): Uint8Array {
    return bytes(Uint32Array.from(values))
  }

  t.test('a tree that is emptied and compacted owns nothing, and lives on', async (t) => {
    const tree = await openTree()
    const keys = Uint32Array.from({ length: 5000 }, (_, i) => i * 7919)
    await write(tree, WriteOp.insert, bytes(keys))
    await write(tree, WriteOp.deleteKey, bytes(keys))
    const { regions, ...stats } = tree.stats()
    const sum = (figure: (region: RegionStats) => number) =>
      regions.reduce((total, region) => total + figure(region), 0)
    t.equal(
      sum(({ bytes }) => bytes),
      stats.deviceBytes,
    )
    t.ok(
      regions.every(({ bytes, usedBytes, garbageBytes }) => garbageBytes <= usedBytes && usedBytes <= bytes),
    )
    t.ok(Math.abs(sum(({ garbageBytes }) => garbageBytes) - stats.garbageBytes) <= 1, 'but for rounding')
    t.ok(stats.garbageBytes > 0)
    await tree.compact()
    const nothing = { keys: 0, payloads: 0, deviceBytes: 0, usedBytes: 0, garbageBytes: 0 }
    t.match(tree.stats(), { ...nothing, shards: 1, regions: { length: 0 } })
    await write(tree, WriteOp.insert, u32(3))
    t.same(await scanAll(tree), [3])
    tree.destroy()
  })

  t.test('a prepared write that is discarded leaves no trace', async (t) => {
    const tree = await openTree()
    await write(tree, WriteOp.insert, u32(1, 2))
    const prepared = await prepareBatch(tree, { ops: WriteOp.deleteKey, keys: u32(1, 3) })
    t.same([...prepared.codes], [deleted, notFound])
    prepared.discard()
    t.same(await scanAll(tree), [1, 2])
    t.same(tree.stats().keys, 2)
    tree.destroy()
  })

  t.test('a key that had 2^31 payloads takes no more, unless it loses all of them', async (t) => {
    const tree = await openTree()
    await write(tree, WriteOp.insert, u32(5, 5, 5, 6), u32(50, 51, 52, 60))
    const { meta, parts } = await tree.image()
    tree.destroy()
    for await (const chunk of parts.find(({ name }) => name === 'extents')!.chunks) {
      // Key 5 has the first extent, which lies behind room for a header.
      new Uint32Array(chunk.buffer)[EXTENT_HEADER + NEXT_SEQUENCE] = 2 ** 31 - 2
    }
    const aged = await PrefixTree.restore(device, tree.shape, { meta, parts })
    await write(aged, WriteOp.insert, u32(5, 6), u32(53, 61))
    await t.rejects(write(aged, WriteOp.insert, u32(6, 5, 5)), {
      code: 'TOO_LARGE',
      message: /2\^31 payloads/,
    })
    t.same(await write(aged, WriteOp.insert, u32(5), u32(54)), [inserted])
    await t.rejects(write(aged, WriteOp.insert, u32(5)), { code: 'TOO_LARGE' })
    t.same(words((await reads(aged).getAll(u32(5, 6), 100)).payloads), [50, 51, 52, 53, 54, 60, 61])
    t.same(await write(aged, [WriteOp.replace, WriteOp.insert], u32(5, 5), u32(55, 56)), [replaced, inserted])
    t.same(await write(aged, WriteOp.insert, u32(5), u32(57)), [inserted])
    t.same(words((await reads(aged).getAll(u32(5), 100)).payloads), [55, 56, 57])
    aged.destroy()
  })

  t.test('garbage makes way for a batch that finds no room, before it is worth a compaction', async (t) => {
    const small = await Device.open('auto', 2 ** 21)
    t.teardown(() => small.destroy())
    const tree = await PrefixTree.create(small, {
      keyType: 'u32',
      payloadBytes: 4,
      unique: false,
      matchFrom: 0,
      structure,
    })
    const live = Uint32Array.from({ length: 10_000 }, (_, i) => i * 97)
    await write(tree, WriteOp.insert, bytes(live))
    // Close pairs, far from all others, take many nodes each. They come and go, and only compaction gives the nodes back.
    for (let round = 0; round < 12; round++) {
      const pairs = 0x80000000 + round * 2 ** 23
      const passing = Uint32Array.from({ length: 4000 }, (_, i) => pairs + (i >> 1) * 2 ** 12 + (i & 1))
      t.same(new Set(await write(tree, WriteOp.insert, bytes(passing))), new Set([inserted]))
      await write(tree, WriteOp.deleteKey, bytes(passing))
    }
    t.same(await scanAll(tree), [...live])
    const tooMany = Uint32Array.from({ length: 200_000 }, (_, i) => i * 7)
    await t.rejects(write(tree, WriteOp.insert, bytes(tooMany)), { code: 'OUT_OF_DEVICE_MEMORY' })
    t.same(await scanAll(tree), [...live])
    tree.destroy()
  })

  t.test('payloads of one hash, if hashes were not secret', async (t) => {
    const tree = await PrefixTree.create(device, {
      keyType: 'u32',
      payloadBytes: 8,
      unique: false,
      matchFrom: 0,
      structure,
    })
    const count = 50_000
    const payloads = new Uint32Array(2 * count)
    // The second word takes back what the first one did to a hash that began with this number.
    for (let i = 0; i < count; i++) payloads.set([i, mixed(0x9e3779b9 ^ i)], 2 * i)
    const keys = new Uint32Array(count).fill(1)
    const ops = new Array<WriteOp>(count).fill(WriteOp.insert)
    ops[count - 1] = WriteOp.deletePair
    const codes = await write(tree, ops, bytes(keys), bytes(payloads))
    t.equal(codes.at(-1), notFound)
    t.same(words(await reads(tree).count(u32(1))), [count - 1])
    tree.destroy()
  })
}

function mixed(word: number): number {
  const first = Math.imul(word, 0x85ebca6b)
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35)
  return (second ^ (second >>> 16)) >>> 0
}
