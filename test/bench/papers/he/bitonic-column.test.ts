import t from 'tap'
import { BitonicColumnSort } from '../../../../bench/papers/he/bitonic-column.js'
import { uploadWords } from '../../../../bench/papers/he/primitive-bench.js'
import { openDevice } from '../../../gpu/open-device.js'
import { randomWords } from '../../../gpu/primitives/bed.js'

t.test('a column of any length is sorted, each payload with its key', async (t) => {
  const device = await openDevice(t)
  for (const memory of ['storage', 'workgroup'] as const) {
    const sort = new BitonicColumnSort(device, memory)
    for (const count of [1, 2, 3, 7, 1000, 1024, 1025, 3000, 4096, 5001]) {
      for (const range of [2 ** 32, 10]) {
        const keys = randomWords(count, count).map((word) => word % range)
        const scratch = device.scratch()
        const columns = {
          keys: uploadWords(device, scratch, keys),
          payloads: uploadWords(
            device,
            scratch,
            keys.map((_, i) => i),
          ),
        }
        const recorder = device.record()
        sort.record(recorder, columns, count)
        recorder.submit()
        const found = await device.readWords(columns.keys, count)
        const rows = await device.readWords(columns.payloads, count)
        scratch.release()
        t.same(
          [...found],
          [...keys].sort((a, b) => a - b),
          `${memory}, ${count} below ${range}`,
        )
        t.same(
          [...rows].map((row) => keys[row]),
          [...found],
        )
        t.equal(new Set(rows).size, count)
      }
    }
  }
})
