import t from 'tap'
import { DeviceWork } from '../../../../gpu/relational/query/device-work.js'
import { QueryKernels } from '../../../../gpu/relational/query/query-kernels.js'
import { openDevice } from '../../open-device.js'

t.test('work that the device refuses is submitted once', async (t) => {
  const device = await openDevice(t)
  const scratch = device.scratch()
  t.teardown(() => scratch.release())
  const work = new DeviceWork(device, await QueryKernels.create(device), scratch)
  work.submit()
  const buffer = await device.allocate(256, 'test')
  let submitted = 0
  work.recorder.copy(buffer, 0, work.faults, 0, 2 ** 30)
  work.recorder.onSubmitted(() => submitted++)
  t.throws(() => work.submit(), { code: 'INTERNAL' })
  work.keepOnly([])
  t.equal(submitted, 1)
  t.same(await work.read([{ buffer, index: 0 }]), [0], 'what comes next is not blamed')
})
