import t from 'tap'
import { benchDevice } from '../../bench/device.js'

// Answers of gets and scans are compared with what was written before times are taken, and numbers of written keys too.
t.test('the benchmark of the device builds, asks and changes each structure on small indexes', async (t) => {
  const rows = await benchDevice('software', [10])
  t.same(
    rows.map(({ name }) => name),
    [
      'u32 → u32, 2^10',
      'u32 → u32, CSS-tree, 2^10',
      'u64 → u64, unique, 2^10',
      'u64 → u64, unique, CSS-tree, 2^10',
    ],
  )
  for (const { name, figures } of rows) {
    t.ok(Number(figures['get Mkeys/s']) > 0 && Number(figures['delete 1/16 Mkeys/s']) > 0, name)
  }
})
