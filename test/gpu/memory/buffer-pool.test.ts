import t from 'tap'
import { BufferPool } from '../../../gpu/memory/buffer-pool.js'
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
