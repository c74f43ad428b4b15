import t from 'tap'
import { Heartbeat } from '../../../../src/server/backpressure/heartbeat.js'

t.test('who is silent is asked once, and given up when that brings nothing', async (t) => {
  const heartbeat = new Heartbeat(30)
  const verdicts = Array.from({ length: 7 }, () => heartbeat.tick(10, 0, true))
  t.strictSame(verdicts, ['alive', 'alive', 'ask', 'alive', 'alive', 'gone', 'gone'])
})

t.test('any byte is a sign of life, and who is not listened to cannot give one', async (t) => {
  const heartbeat = new Heartbeat(30)
  t.equal(heartbeat.tick(30, 0, true), 'ask')
  t.equal(heartbeat.tick(29, 1, true), 'alive')
  t.equal(heartbeat.tick(29, 1, true), 'alive')
  t.equal(heartbeat.tick(1, 1, true), 'ask')
  t.equal(heartbeat.tick(1000, 1, false), 'alive')
  t.equal(heartbeat.tick(29, 1, true), 'alive')
  t.equal(heartbeat.tick(1, 1, true), 'ask')
  t.equal(heartbeat.tick(30, 1, true), 'gone')
})
