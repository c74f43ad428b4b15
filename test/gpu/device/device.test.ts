import { spawnSync } from 'node:child_process'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { childProgram } from '../../../bench/child-program.js'
import { profiled } from '../../../bench/profiled.js'
import { Device } from '../../../gpu/device/device.js'
import { KernelStore } from '../../../gpu/device/kernel-store.js'
import { Primitives } from '../../../gpu/primitives/primitives.js'
import { separateDevices } from '../../separate-devices.js'
import { openDevice } from '../open-device.js'

separateDevices()

t.test('what is uploaded is read back, whole words or not', async (t) => {
  const device = await openDevice(t)
  for (const length of [1, 3, 4, 255, 256, 1021]) {
    const column = Uint8Array.from({ length }, (_, i) => (i * 7) & 255)
    const scratch = device.scratch()
    const buffer = scratch.bytes(length)
    device.upload(buffer, column)
    t.same(await device.read(buffer, length), column)
    const shared = new Uint8Array(new SharedArrayBuffer(length))
    shared.set(column.toReversed())
    device.upload(buffer, shared)
    t.same(await device.read(buffer, length), column.toReversed())
    scratch.release()
  }
})

t.test('modules are linked one in a turn of the event loop, and none once the device is gone', async (t) => {
  const device = await openDevice(t)
  const { gpu } = device
  const { createBindGroupLayout } = gpu
  let linked = 0
  gpu.createBindGroupLayout = (descriptor) => {
    linked++
    return createBindGroupLayout.call(gpu, descriptor)
  }
  const store = new KernelStore(gpu, false)
  const make = () => {
    for (const name of ['gather', 'scatter']) store.kernel({ module: 'primitives/move' }, name)
    return store.compiled()
  }
  const compiled = make()
  t.equal(linked, 0)
  await setImmediate()
  t.ok(linked < 2)
  await compiled
  t.equal(linked, 2)
  store.end()
  store.kernel({ module: 'primitives/map' }, 'map_affine')
  await store.compiled()
  t.equal(linked, 2)
})

t.test('twenty devices one after the other', async (t) => {
  for (let i = 0; i < 20; i++) {
    const device = await Device.open()
    const buffer = await device.allocate(1024, 'test')
    t.equal((await device.readWords(buffer, 4)).join(), '0,0,0,0')
    device.destroy()
  }
})

t.test('a lost device is reported to whoever waits, as a typed error', async (t) => {
  const device = await Device.open()
  device.gpu.destroy()
  t.match(await device.lost, { code: 'DEVICE_LOST' })
  t.throws(() => device.check(), { code: 'DEVICE_LOST' })
  device.destroy()
})

t.test('a buffer past the binding limit is refused with a typed error', async (t) => {
  const device = await openDevice(t)
  await t.rejects(device.allocate(2 ** 50, 'test'), { code: 'OUT_OF_DEVICE_MEMORY' })
  const buffer = await device.allocate(256, 'test')
  t.equal((await device.readWords(buffer, 1))[0], 0)
})

t.test('scratch memory past what there is fails at once and spoils nothing', async (t) => {
  const device = await openDevice(t)
  const scratch = device.scratch()
  t.throws(() => scratch.bytes(2 ** 45), { code: 'OUT_OF_DEVICE_MEMORY' })
  device.check()
  const buffer = scratch.bytes(2 ** 12)
  device.upload(buffer, Uint8Array.of(1, 2, 3, 4))
  scratch.release()
  t.same([...(await device.read(buffer, 4))], [1, 2, 3, 4])
})

t.test('a clock takes the time of work in one submission and over several', async (t) => {
  const device = await openDevice(t)
  const clock = device.createClock(3)
  if (clock === undefined) return t.comment('the adapter has no timestamps')
  const buffer = await device.allocate(2 ** 20, 'test')
  const first = device.record()
  first.stamp(clock, 0)
  first.clear(buffer)
  first.stamp(clock, 1)
  first.submit()
  const second = device.record()
  second.clear(buffer)
  second.stamp(clock, 2)
  second.submit()
  const points = await device.readClock(clock)
  t.equal(points[0], 0)
  t.same(
    points,
    [...points].sort((a, b) => a - b),
  )
  t.ok(points[2]! > 0)
  clock.destroy()
})

t.test('a profile says what each kernel took, of several submissions', async (t) => {
  const device = await openDevice(t)
  const primitives = await Primitives.create(device)
  const buffer = await device.allocate(2 ** 20, 'test')
  const kernels = await profiled(device, async () => {
    for (let submission = 0; submission < 2; submission++) {
      const recorder = device.record()
      for (let i = 0; i < 1500; i++) primitives.iota(recorder, buffer, 2 ** 10, i)
      recorder.submit()
    }
  })
  if (kernels === undefined) return t.comment('the adapter has no timestamps')
  t.match(kernels, [{ kernel: 'primitives/map map_affine', dispatches: 3000 }])
  t.ok(kernels[0]!.microseconds > 0)
  t.equal((await device.readWords(buffer, 1))[0], 1499)
})

t.test('work that the device refuses fails where it is submitted', async (t) => {
  const device = await openDevice(t)
  const buffer = await device.allocate(256, 'test')
  const other = await device.allocate(256, 'test')
  const recorder = device.record()
  recorder.copy(buffer, 0, other, 0, 1024)
  t.throws(() => recorder.submit(), { code: 'INTERNAL' })
  t.equal((await device.readWords(other, 1))[0], 0, 'who comes next is not blamed')
})

t.test('a process that ends with a device alive ends well', async (t) => {
  const script = childProgram('test/gpu/device/open-and-leave')
  for (const how of ['destroy', 'exit']) {
    const { status, signal, stderr } = spawnSync(process.execPath, [...process.execArgv, script, how], {
      encoding: 'utf8',
    })
    t.equal(status, 0, stderr)
    t.equal(signal, null)
  }
})
