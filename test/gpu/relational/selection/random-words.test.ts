import t from 'tap'
import { scattered } from '../../../../bench/keys.js'
import { evaluateRows } from '../../../../gpu/relational/expressions/evaluate.js'
import { DeviceWork } from '../../../../gpu/relational/query/device-work.js'
import { QueryKernels } from '../../../../gpu/relational/query/query-kernels.js'
import { randomWords } from '../../../../gpu/relational/selection/random-words.js'
import { openDevice } from '../../open-device.js'

t.test('words are those of the hash, whatever their number', async (t) => {
  const device = await openDevice(t)
  const kernels = await QueryKernels.create(device)
  for (const [count, first, mask] of [
    [1, 0, 0xffffffff],
    [1000, 7, 0xffffffff],
    [70_001, 2 ** 32 - 5, 4095],
  ] as const) {
    const scratch = device.scratch()
    const work = new DeviceWork(device, kernels, scratch)
    const [column] = await evaluateRows(work, { count }, [randomWords(first, mask)])
    await work.submitted()
    const found = await device.readWords(column!.values, count)
    scratch.release()
    t.same(
      found,
      Uint32Array.from({ length: count }, (_, i) => scattered((first + i) >>> 0) & mask),
    )
  }
})
