import t from 'tap'
import { Device } from '../../../../gpu/device/device.js'
import { PrefixTree } from '../../../../gpu/index/prefix-tree.js'
import { WriteOp } from '../../../../protocol/types.js'
import { prepareBatch } from '../../../writes.js'

const SHAPE = { keyType: 'u32', payloadBytes: 4, unique: true, matchFrom: 0, structure: 'css' } as const

let device: Device
t.before(async () => {
  device = await Device.open('auto')
})
t.teardown(() => device.destroy())

async function write(tree: PrefixTree, ops: WriteOp, numbers: readonly number[]): Promise<void> {
  const keys = new Uint8Array(Uint32Array.from(numbers).buffer)
  const { payloadBytes } = tree.shape
  const payloads = new Uint8Array(numbers.length * payloadBytes)
  const prepared = await prepareBatch(tree, { ops, keys, payloads })
  prepared.apply()
}

function numbers(from: number, count: number, step = 7): number[] {
  return Array.from({ length: count }, (_, i) => (from + i) * step)
}

t.test('a batch that would pass what an index may own is refused, and what fits goes on', async (t) => {
  device.structureBytes = 400_000
  const tree = await PrefixTree.create(device, SHAPE)
  const refused = { code: 'OUT_OF_DEVICE_MEMORY', message: /one index may have at most 400000/ }
  await t.rejects(write(tree, WriteOp.insert, numbers(0, 40_000)), refused)
  t.equal(tree.stats().keys, 0)
  await write(tree, WriteOp.insert, numbers(0, 10_000))
  t.ok(tree.stats().deviceBytes <= 400_000)
  await write(tree, WriteOp.deleteKey, numbers(0, 100))
  await write(tree, WriteOp.insert, numbers(0, 50))
  t.equal(tree.stats().keys, 9950)
  tree.destroy()
})

t.test('a merge makes room where the delta fills what an index may own', async (t) => {
  device.structureBytes = 1_000_000
  const tree = await PrefixTree.create(device, SHAPE)
  await write(tree, WriteOp.insert, [1])
  // Without a merge their nodes would take more than a million bytes.
  for (let batch = 0; batch < 8; batch++) {
    await write(tree, WriteOp.insert, numbers(1 + batch * 4000, 4000, 65_537))
  }
  t.equal(tree.stats().keys, 32_001)
  t.ok(tree.stats().deviceBytes <= 1_000_000)
  tree.destroy()
})

t.test('many inserts of few keys take the room of few keys', async (t) => {
  device.structureBytes = 300_000
  const tree = await PrefixTree.create(device, { ...SHAPE, payloadBytes: 64 })
  await write(
    tree,
    WriteOp.insert,
    Array.from({ length: 20_000 }, (_, i) => i % 10),
  )
  t.equal(tree.stats().keys, 10)
  tree.destroy()
})
