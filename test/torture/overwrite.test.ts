import t from 'tap'
import { Random, seedOfRun } from '../random.js'
import { overwrite } from './overwrite.js'

t.test('the data file stops to grow, though readers leave off in the middle', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  t.comment(await overwrite(t.testdir(), new Random(seed), 400))
})
