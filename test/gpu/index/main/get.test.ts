import t, { type Test } from 'tap'
import type { Device } from '../../../../gpu/device/device.js'
import { Arena } from '../../../../gpu/index/arena.js'
import { treeShape } from '../../../../gpu/index/layout.js'
import { Get } from '../../../../gpu/index/read/get.js'
import { ReadContext } from '../../../../gpu/index/read/read-context.js'
import { TreeWriter } from '../../../../gpu/index/write/tree-writer.js'
import type { IndexShape } from '../../../../gpu/index-structure.js'
import { Primitives } from '../../../../gpu/primitives/primitives.js'
import { columnFrom } from '../../../../protocol/columns.js'
import { keyWidth, WriteOp } from '../../../../protocol/types.js'
import { Random, seedOfRun } from '../../../random.js'
import { batchOf } from '../../../writes.js'
import { openDevice } from '../../open-device.js'

/** Shapes whose leaves have 8, 4, 2 tuples and one. */
const SHAPES: readonly IndexShape[] = [
  { keyType: 'u32', payloadBytes: 4, unique: true, matchFrom: 0, structure: 'css' },
  { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0, structure: 'css' },
  { keyType: 'u64', payloadBytes: 8, unique: true, matchFrom: 0, structure: 'css' },
  { keyType: 'i64', payloadBytes: 16, unique: false, matchFrom: 0, structure: 'css' },
  { keyType: 'f32', payloadBytes: 64, unique: true, matchFrom: 0, structure: 'css' },
]

/** Sizes around those of a leaf, a node, and a node of nodes. */
const SIZES = [1, 4, 5, 8, 9, 64, 65, 129, 1025]

t.test('lookups by one thread a key and by one thread for 32 keys give the same answers', async (t) => {
  const device = await openDevice(t)
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  for (const shape of SHAPES) {
    for (const size of SIZES) await compare(t, device, shape, size, random)
  }
})

async function compare(
  t: Test,
  device: Device,
  shape: IndexShape,
  size: number,
  random: Random,
): Promise<void> {
  const primitives = await Primitives.create(device)
  const context = new ReadContext(device, primitives, shape)
  const writer = new TreeWriter(device, primitives, shape)
  const arena = await Arena.create(device, treeShape(shape), { nodes: 64, tuples: 64, extentWords: 64 })
  const model = new Map<number, number>()
  const write = async (ops: WriteOp, numbers: readonly number[], payload: number): Promise<void> => {
    const payloads = Buffer.alloc(numbers.length * shape.payloadBytes)
    numbers.forEach((_, i) => {
      payloads.writeUInt32LE(payload + i, i * shape.payloadBytes)
    })
    const prepared = await writer.prepare(
      arena,
      batchOf(shape, { ops, keys: column(shape, numbers), payloads }),
    )
    prepared.apply()
  }
  const distinct = (count: number) => [
    ...new Set(Array.from({ length: count }, () => random.below(4 * size + 8))),
  ]
  const first = distinct(size)
  await write(WriteOp.insert, first, 1)
  first.forEach((number, i) => {
    model.set(number, 1 + i)
  })
  const gone = first.filter(() => random.chance(0.2))
  await write(WriteOp.deleteKey, gone, 0)
  for (const number of gone) model.delete(number)
  const later = distinct(1 + random.below(100)).filter((number) => !model.has(number))
  await write(WriteOp.insert, later, 100_000)
  later.forEach((number, i) => {
    model.set(number, 100_000 + i)
  })
  const asked = Array.from({ length: 300 + random.below(7) }, () => random.below(4 * size + 8))
  const expected = asked.map((number) => model.get(number) ?? 0)
  for (const serial of [true, false]) {
    const get = new Get(context, serial)
    const tree = { arena, keys: 1, plan: undefined }
    const keys = columnFrom(column(shape, asked), keyWidth(shape.keyType))
    const { payloads } = await get.run(tree, { op: 'get' }, { keys, count: asked.length })
    const view = Buffer.from(payloads.bytes)
    const found = asked.map((_, i) => view.readUInt32LE(i * shape.payloadBytes))
    t.strictSame(found, expected, `${shape.keyType}, ${shape.payloadBytes} B, ${size} keys, serial ${serial}`)
  }
  arena.destroy()
}

/** Keys by their numbers, in an order that is not that of the numbers' bytes. */
function column(shape: IndexShape, numbers: readonly number[]): Uint8Array {
  const values = numbers.map((number) => (number % 2 === 0 ? number : -number) * 1000)
  if (shape.keyType === 'f32') return bytes(Float32Array.from(values))
  if (shape.keyType === 'u32') return bytes(Uint32Array.from(values))
  const words = BigInt64Array.from(values, (value) => BigInt(value) * 1_000_003n)
  return bytes(words)
}

function bytes(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}
