import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { LIMITS } from '../../../protocol/limits.js'
import { QueryCursor } from '../../../src/query/query-cursor.js'

const batch = (rows: number) =>
  ({
    rows,
    columns: [
      {
        name: 'x',
        type: 'u32',
        nullable: false,
        values: new Uint8Array(4 * rows),
        validity: undefined,
        texts: undefined,
      },
    ],
  }) as const

/** Whether a promise is settled by the next turn of the event loop. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const later = new Promise((resolve) => setImmediate(resolve, 'later'))
  return (await Promise.race([promise.catch(() => 'failed'), later])) !== 'later'
}

t.test('a query waits for its reader, and the reader for the query', async (t) => {
  const { queryQueuedBytes } = LIMITS
  t.teardown(() => Object.assign(LIMITS, { queryQueuedBytes }))
  Object.assign(LIMITS, { queryQueuedBytes: 100 })
  const cursor = new QueryCursor()
  const first = cursor.next()
  t.notOk(await isSettled(first), 'nothing is there')
  await cursor.push(batch(10))
  t.notOk(await isSettled(first), 'whether more follows is not known')
  await cursor.push(batch(20))
  t.match(await first, { batch: { rows: 10 }, more: true })
  await cursor.push(batch(10))
  const third = cursor.push(batch(1))
  t.notOk(await isSettled(third), 'there is no room')
  t.match(await cursor.next(), { batch: { rows: 20 }, more: true })
  await third
  cursor.end()
  t.match(await cursor.next(), { batch: { rows: 10 }, more: true })
  t.match(await cursor.next(), { batch: { rows: 1 }, more: false })
  await t.rejects(cursor.next(), { code: 'BAD_REQUEST' })
})

t.test('a failure, a reader who leaves, and one who reads no further', async (t) => {
  const failed = new QueryCursor()
  await failed.push(batch(1))
  failed.end(new Error('broken'))
  await t.rejects(failed.next(), { code: 'INTERNAL', message: 'broken' })

  const { queryQueuedBytes, stallSeconds } = LIMITS
  t.teardown(() => Object.assign(LIMITS, { queryQueuedBytes, stallSeconds }))
  Object.assign(LIMITS, { queryQueuedBytes: 1 })
  const left = new QueryCursor()
  await left.push(batch(1))
  const waiting = left.push(batch(1))
  left.cancel()
  await t.rejects(waiting, { code: 'CANCELLED', message: /was cancelled/ })

  Object.assign(LIMITS, { stallSeconds: 0.01, queryQueuedBytes })
  for (const isWhole of [false, true]) {
    let isGivenUp = false
    const stalled = new QueryCursor(() => {
      isGivenUp = true
    })
    for (let i = 0; i < 3; i++) await stalled.push(batch(1))
    if (isWhole) stalled.end()
    t.match(await stalled.next(), { more: true })
    while (!isGivenUp) await setTimeout(2)
    await t.rejects(stalled.push(batch(1)), { code: 'CANCELLED', message: /not read on/ })
  }
})

t.test('a reader that waits for the query is not taken for one that reads no further', async (t) => {
  const { stallSeconds } = LIMITS
  t.teardown(() => Object.assign(LIMITS, { stallSeconds }))
  Object.assign(LIMITS, { stallSeconds: 0.01 })
  const cursor = new QueryCursor(() => t.fail('the result was given up'))
  const [first, second] = [cursor.next(), cursor.next()]
  await cursor.push(batch(1))
  await cursor.push(batch(2))
  t.match(await first, { batch: { rows: 1 }, more: true })
  await setTimeout(50)
  await cursor.push(batch(3))
  t.match(await second, { batch: { rows: 2 }, more: true })
  cursor.end()
  t.match(await cursor.next(), { batch: { rows: 3 }, more: false })
})
