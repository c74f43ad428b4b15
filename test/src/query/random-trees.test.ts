import t from 'tap'
import { openDevice } from '../../gpu/open-device.js'
import { Random, seedOfRun } from '../../random.js'
import { runQueries } from './fuzz/query-program.js'

t.test('random trees of operators give what DuckDB gives', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const device = await openDevice(t)
  const { rows } = await runQueries(device, new Random(seed), { queries: 40, depth: 3, mostRows: 100 })
  t.pass(`40 queries, ${rows} rows`)
})
