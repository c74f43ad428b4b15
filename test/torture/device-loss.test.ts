import t from 'tap'
import { freshSeed, Random } from '../random.js'
import { loseDevices } from './device-loss.js'

t.test('devices are lost under load, and no acknowledged write with them', async (t) => {
  const seed = Number(process.env.WARPDEX_SEED ?? freshSeed())
  t.comment(`WARPDEX_SEED=${seed}`)
  t.comment(await loseDevices(t.testdir(), new Random(seed), 6, { models: true }))
})
