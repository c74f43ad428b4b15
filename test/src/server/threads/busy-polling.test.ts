import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { BusyPolling } from '../../../../src/server/threads/busy-polling.js'

const gpu = { software: false }

t.test('the loop turns while requests come right after each other, and no longer', async (t) => {
  let now = 0
  const polling = new BusyPolling(() => now)
  polling.arrived(gpu)
  t.notOk(polling.turning, 'a first one')
  now += 10
  polling.arrived(gpu)
  t.notOk(polling.turning, 'one after a pause')
  now += 0.2
  polling.arrived(gpu)
  t.ok(polling.turning, 'one right after it')
  for (let i = 0; i < 5; i++) await setImmediate()
  t.ok(polling.turning)
  now += 0.4
  polling.arrived(gpu)
  now += 0.4
  await setImmediate()
  await setImmediate()
  t.ok(polling.turning, 'it counts from the last one')
  now += 0.2
  await setImmediate()
  await setImmediate()
  t.notOk(polling.turning)
  polling.arrived(gpu)
  t.notOk(polling.turning, 'one after a pause again')
})

t.test('the time that an answer takes does not count', async (t) => {
  let now = 0
  const polling = new BusyPolling(() => now)
  const ask = () => {
    polling.arrived(gpu)
    now += 0.9
  }
  ask()
  polling.answered()
  t.notOk(polling.turning, 'one after a pause')
  now += 0.2
  ask()
  await setImmediate()
  await setImmediate()
  t.notOk(polling.turning, 'it takes too long to be waited for')
  polling.answered()
  t.ok(polling.turning, 'the next one is waited for')
  now += 0.6
  await setImmediate()
  await setImmediate()
  t.notOk(polling.turning)
  polling.arrived(gpu)
  polling.answered()
  t.notOk(polling.turning, 'one after a pause again')
})

t.test('where the CPU is the device the loop is left alone', async (t) => {
  const polling = new BusyPolling(() => 0)
  for (let i = 0; i < 3; i++) {
    polling.arrived({ software: true })
    polling.answered()
    t.notOk(polling.turning)
  }
})
