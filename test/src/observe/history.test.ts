import t from 'tap'
import { History } from '../../../src/observe/history.js'
import { Meters } from '../../../src/observe/meters.js'

t.test('seconds are kept for five minutes, and an hour in spans of ten seconds', (t) => {
  const meters = new Meters()
  const history = new History(meters)
  t.teardown(() => history.stop())
  for (let second = 0; second < 20; second++) {
    meters.latest.reads.record(second < 10 ? 100 : 1000)
    meters.items += 5
    history.take()
  }
  t.equal(history.columns.at.length, 20)
  t.match([history.columns.readsP99[3], history.columns.readsP99[13]], [104, 1024])
  const { hour } = history
  t.strictSame([hour.at.length, hour.readsP50, hour.writesP99], [2, [104, 1024], [0, 0]])
  t.equal(hour.at[1], history.columns.at.at(-1), 'a span ends with its last second')
  for (let second = 20; second < 3700; second++) history.take()
  t.strictSame([history.columns.at.length, hour.at.length], [300, 360])
  t.end()
})
