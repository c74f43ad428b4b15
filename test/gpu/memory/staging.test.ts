import t from 'tap'
import { BufferPool } from '../../../gpu/memory/buffer-pool.js'
import { STAGED_PIECE_BYTES, Staging } from '../../../gpu/memory/staging.js'
import { asBytes } from '../../../protocol/columns.js'
import { Random, seedOfRun } from '../../random.js'
import { openDevice } from '../open-device.js'

t.test('columns get where they belong, in the order in which they are recorded', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const device = await openDevice(t)
  let created = 0
  const create = (size: number) => {
    created++
    const usage = GPUBufferUsage.MAP_WRITE | GPUBufferUsage.COPY_SRC
    return device.gpu.createBuffer({ size, usage, mappedAtCreation: true })
  }
  const pool = new BufferPool(create, 2 ** 20, 2 ** 22)
  const staging = new Staging(device, pool)
  const bytes = 8192
  const target = await device.allocate(bytes, 'target')
  const model = new Uint8Array(bytes)
  for (let round = 0; round < 30; round++) {
    const recorder = device.record()
    for (let i = 1 + random.below(3); i > 0; i--) {
      const offset = 4 * random.below(bytes / 4)
      const column = random.bytes(1 + random.below(bytes - offset))
      staging.record(recorder, target, offset, column)
      model.fill(0, offset, offset + Math.ceil(column.length / 4) * 4)
      model.set(column, offset)
    }
    recorder.submit()
    if (random.chance(0.7)) {
      t.strictSame(Buffer.from(await device.read(target, bytes)), Buffer.from(model))
    }
  }
  const before = created
  for (let round = 0; round < 10; round++) {
    const recorder = device.record()
    staging.record(recorder, target, 0, random.bytes(5000))
    recorder.submit()
    await device.read(target, bytes)
  }
  t.ok(created <= before + 2, 'buffers are used again')
  pool.destroy()
  target.destroy()
})

t.test('long columns go up in pieces, whose buffers serve those of other lengths', async (t) => {
  const device = await openDevice(t)
  const made: number[] = []
  const create = (size: number) => {
    made.push(size)
    const usage = GPUBufferUsage.MAP_WRITE | GPUBufferUsage.COPY_SRC
    return device.gpu.createBuffer({ size, usage, mappedAtCreation: true })
  }
  const pool = new BufferPool(create, 2 ** 30, 2 ** 30)
  const staging = new Staging(device, pool)
  const target = await device.allocate(3 * STAGED_PIECE_BYTES + 4, 'target')
  for (const pieces of [2.5, 2, 1.5]) {
    const words = Uint32Array.from({ length: (pieces * STAGED_PIECE_BYTES) / 4 + 1 }, (_, i) =>
      Math.imul(i, 0x9e37_79b1),
    )
    const column = asBytes(words).subarray(0, -3)
    const recorder = device.record()
    staging.record(recorder, target, 4, column)
    recorder.submit()
    const read = await device.read(target, column.length, 4)
    t.ok(Buffer.from(read).equals(column), `${pieces} pieces`)
  }
  t.same(
    made.filter((size) => size > 256),
    [STAGED_PIECE_BYTES, STAGED_PIECE_BYTES, STAGED_PIECE_BYTES],
  )
  pool.destroy()
  target.destroy()
})
