import t from 'tap'
import { Random, seedOfRun } from '../random.js'
import { loseDevices } from './device-loss.js'

t.test('devices are lost under load, and no acknowledged write with them', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  t.comment(await loseDevices(t.testdir(), new Random(seed), 6, { models: true }))
})
