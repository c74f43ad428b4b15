import t from 'tap'
import { BufferPool } from '../../../gpu/memory/buffer-pool.js'
import { Scratch } from '../../../gpu/memory/scratch.js'
import { openDevice } from '../open-device.js'

t.test('operations that are alike get the same buffers in the same places', async (t) => {
  const device = await openDevice(t)
  let created = 0
  const create = (size: number) => {
    created++
    return device.gpu.createBuffer({ size, usage: GPUBufferUsage.STORAGE })
  }
  const pool = new BufferPool(create, 2 ** 20, 2 ** 20)
  /** Takes and gives back as an operation with two scratch memories does, one of which it gives back in between. */
  const operate = () => {
    const outer = [pool.acquire(1000), pool.acquire(1024)]
    const first = [pool.acquire(600), pool.acquire(5000)]
    const second = [pool.acquire(1024)]
    for (const buffer of first) pool.release(buffer)
    second.push(pool.acquire(900), pool.acquire(4097))
    for (const buffer of [...second, ...outer]) pool.release(buffer)
    return [...outer, ...first, ...second]
  }
  const once = operate()
  const before = created
  for (let i = 0; i < 5; i++) t.ok(operate().every((buffer, place) => buffer === once[place]))
  t.equal(created, before)
  t.same(
    once.map(({ size }) => size),
    [1024, 1024, 1024, 8192, 1024, 1024, 8192],
  )

  const large = pool.acquire(2 ** 20)
  pool.release(large)
  pool.release(pool.acquire(2 ** 19))
  t.not(pool.acquire(2 ** 20), large, 'what is past the bytes to keep was destroyed')
  pool.destroy()
})

t.test('spare buffers are made in idle time, and take the place of smaller ones', async (t) => {
  const device = await openDevice(t)
  const create = (size: number) => device.gpu.createBuffer({ size, usage: GPUBufferUsage.STORAGE })
  const pool = new BufferPool(create, 2 ** 20, 2 ** 20)
  const idle: (() => void)[] = []
  /** Lets the device be idle until nobody waits for that any more. */
  const beIdle = () => {
    for (let call = idle.shift(); call !== undefined; call = idle.shift()) call()
  }
  let [made, room] = [0, 6]
  const make = () => (made < room ? create(2 ** 16 * Math.sign(++made)) : undefined)
  pool.keepSpares({ size: 2 ** 16, count: 6, make, whenIdle: (call) => idle.push(call) })
  t.equal(made, 0, 'nobody waits for them')
  beIdle()
  t.equal(made, 6)

  const sizes = [2 ** 16, 2 ** 14, 2 ** 12, 2 ** 11, 2 ** 10, 2 ** 17].map((size) => pool.acquire(size))
  t.same(
    sizes.map(({ size }) => size),
    [2 ** 16, 2 ** 16, 2 ** 16, 2 ** 16, 2 ** 10, 2 ** 17],
    'not of much smaller ones, nor of larger ones',
  )
  room = 8
  beIdle()
  t.equal(made, 8, 'they are made again, as far as there is room')
  for (const buffer of sizes) pool.release(buffer)
  t.ok(sizes.slice(0, 4).includes(pool.acquire(2 ** 16)))
  beIdle()
  t.equal(made, 8, 'enough of them are unused')
  pool.destroy()
})

t.test(
  'at the end of an operation all is given back that it holds, also by its parts, and once',
  async (t) => {
    const device = await openDevice(t)
    const released: GPUBuffer[] = []
    const pool = new BufferPool(
      (size) => device.gpu.createBuffer({ size, usage: GPUBufferUsage.STORAGE }),
      2 ** 20,
      0,
    )
    pool.release = (buffer) => released.push(buffer)
    const waiting: (() => void)[] = []
    const lane = {
      record: () => device.record(),
      whenSubmitted: (call: () => void) => waiting.push(call),
      submitted: async () => {},
    }
    const asked: number[] = []
    const scratch = new Scratch(pool, lane, (bytes) => asked.push(bytes))
    const part = scratch.part()
    const held = [scratch.bytes(300), part.bytes(5000), part.bytes(10)]
    t.same(asked, [512, 512 + 8192, 512 + 8192 + 256], 'what buffers really have is admitted')
    scratch.end()
    part.release()
    t.same(released, [])
    for (const call of waiting) call()
    t.same(new Set(released), new Set(held))
    t.equal(released.length, 3)
    t.equal(scratch.heldBytes, 0)
  },
)
