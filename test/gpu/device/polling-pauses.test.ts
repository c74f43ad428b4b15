import { setImmediate, setTimeout } from 'node:timers/promises'
import t from 'tap'
import { PollingPauses } from '../../../gpu/device/polling-pauses.js'

t.test('waits settle as what they wait for does, one inside another and one after another', async (t) => {
  const pauses = new PollingPauses()
  const long = pauses.during(setTimeout(20, 'long'))
  t.equal(await pauses.during(Promise.resolve('short')), 'short')
  const failed = pauses.during(setTimeout(5).then(() => Promise.reject(new Error('failed'))))
  await t.rejects(failed, { message: 'failed' })
  t.equal(await long, 'long')
  await setImmediate()
  t.equal(await pauses.during(setTimeout(2, 'afterwards')), 'afterwards')
})
