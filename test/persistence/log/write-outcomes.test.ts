import t, { type Test } from 'tap'
import { Store } from '../../../persistence/store.js'
import { LIMITS } from '../../../protocol/limits.js'
import { batch, definition, entriesByKeyspace, temporaryDirectory } from '../store-helpers.js'

const EXPIRY = LIMITS.writeIdHours * 3_600_000

/** Lets time go by until the test ends. */
function advanceClock(t: Test, milliseconds: number): void {
  setClock(t, milliseconds)
  const { now } = performance
  t.teardown(() => {
    performance.now = now
  })
  performance.now = () => now.call(performance) + milliseconds
}

/** Sets the clock forward or back until the test ends, while no time goes by. */
function setClock(t: Test, milliseconds: number): void {
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => now() + milliseconds
}

t.test('outcomes of writes are remembered', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  const codes = {
    mixed: new Uint8Array([0, 2, 5]),
    uniform: new Uint8Array(1000).fill(3),
    none: new Uint8Array(0),
  }
  await store.log.append(id, {
    ...batch(1),
    outcomes: [
      { client: 'client', write: 1, codes: codes.mixed },
      { client: 'client', write: 2 ** 53 - 1, codes: codes.uniform },
      { client: 'client 2', write: 1, codes: codes.none },
    ],
  })
  for (const wrong of [{ client: '' }, { client: 'x'.repeat(256) }, { write: -1 }, { write: 0.5 }]) {
    const outcomes = [{ client: 'client', write: 9, codes: codes.mixed, ...wrong }]
    await t.rejects(store.log.append(id, { ...batch(2), outcomes }), { code: 'BAD_REQUEST' })
  }
  await store.log.append(id, { ...batch(2), outcomes: [{ client: 'client', write: 3, codes: codes.mixed }] })
  const check = (store: Store) => {
    t.same(store.outcomes.find('client', 1), { index: id, position: 1, codes: Buffer.from(codes.mixed) })
    t.same(store.outcomes.find('client', 2 ** 53 - 1), { index: id, position: 1, codes: codes.uniform })
    t.same(store.outcomes.find('client 2', 1)?.codes?.length, 0)
    t.equal(store.outcomes.find('client', 3)?.position, 2)
    t.equal(store.outcomes.find('client', 2), undefined)
    t.equal(store.outcomes.find('nobody', 1), undefined)
  }
  check(store)
  await store.close()
  const again = await Store.open(directory)
  check(again)
  await again.close()
})

t.test('old outcomes are forgotten: past the number, past the bytes, past the time', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  const append = (client: string, write: number, codes: Uint8Array) =>
    store.log.append(id, { ...batch(1, 1), outcomes: [{ client, write, codes }] })
  const short = new Uint8Array(1)
  await Promise.all(Array.from({ length: LIMITS.writeIdsPerClient + 5 }, (_, i) => append('many', i, short)))
  const long = new Uint8Array(LIMITS.writeIdBytesPerClient / 2)
  long[0] = 1
  for (let i = 0; i < 3; i++) await append('large', i, long)
  await append('large', 2, short)
  const check = (store: Store) => {
    t.equal(store.outcomes.find('many', 4), undefined)
    t.equal(store.outcomes.find('many', 5)?.codes?.length, 1)
    t.equal(store.outcomes.find('large', 0), undefined)
    t.equal(store.outcomes.find('large', 1)?.codes?.length, long.length)
    t.equal(store.outcomes.find('large', 2)?.codes?.length, 1, 'the last outcome of a number counts')
  }
  check(store)
  await store.close()

  let again = await Store.open(directory)
  check(again)
  await again.close()

  advanceClock(t, EXPIRY)
  again = await Store.open(directory)
  t.equal(again.outcomes.find('many', 5), undefined)
  await again.close()
  t.equal(entriesByKeyspace(directory).outcomes, 0)
})

t.test('a clock that is set forward or back ages nothing, and keeps the order', async (t) => {
  const directory = temporaryDirectory(t)
  let store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  const append = (write: number) =>
    store.log.append(id, { ...batch(1, 1), outcomes: [{ client: 'c', write, codes: new Uint8Array(1) }] })
  const quarter = LIMITS.writeIdsPerClient / 4
  for (const [i, jump] of [0, 2 * EXPIRY, -4 * EXPIRY, EXPIRY].entries()) {
    setClock(t, jump)
    await Promise.all(Array.from({ length: quarter }, (_, j) => append(i * quarter + j)))
  }
  const known = () => [0, 1, 500, 1023].map((write) => store.outcomes.find('c', write) !== undefined)
  t.strictSame(known(), [true, true, true, true])
  await store.close()
  setClock(t, -EXPIRY)
  store = await Store.open(directory)
  t.strictSame(known(), [true, true, true, true])
  await append(2000)
  t.strictSame(known(), [false, true, true, true], 'the oldest goes first')
  await store.close()
})

/** Writes once for each of many clients, several at a time as a batch of the server does. */
async function writeOnce(store: Store, clients: readonly string[], write = 1): Promise<void> {
  const [{ id }] = store.indexes()
  const codes = new Uint8Array(1)
  for (let i = 0; i < clients.length; i += 8192) {
    const outcomes = clients.slice(i, i + 8192).map((client) => ({ client, write, codes }))
    await store.log.append(id, { ...batch(1, 1), outcomes })
  }
}

t.test('many clients that write once: those silent longest are forgotten', async (t) => {
  Object.assign(LIMITS, { writeIdsInAll: 1 << 15 })
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  await store.createIndex(definition('a'))
  const early = Array.from({ length: 1000 }, (_, i) => `early ${i}`)
  await writeOnce(store, ['active', ...early])
  const others = Array.from({ length: LIMITS.writeIdsInAll - 1001 }, (_, i) => `other ${i}`)
  await writeOnce(store, others)
  const remembered = (store: Store, clients: readonly string[]) =>
    clients.filter((client) => store.outcomes.find(client, 1) !== undefined).length
  t.equal(remembered(store, [...early, 'active', others[0]]), 1002, 'all are, up to the limit')
  await writeOnce(store, ['active'], 2)
  const late = Array.from({ length: 500 }, (_, i) => `late ${i}`)
  await writeOnce(store, late)
  const check = (store: Store) => {
    t.same(
      early.map((client) => store.outcomes.find(client, 1) !== undefined),
      early.map((_, i) => i >= 501),
    )
    t.equal(remembered(store, late), late.length)
    t.equal(remembered(store, others), others.length)
    t.ok(store.outcomes.find('active', 1) && store.outcomes.find('active', 2))
  }
  check(store)
  await store.close()
  t.equal(entriesByKeyspace(directory).outcomes, LIMITS.writeIdsInAll)

  advanceClock(t, EXPIRY / 2)
  const again = await Store.open(directory)
  check(again)
  await writeOnce(again, ['active', ...late], 3)
  advanceClock(t, EXPIRY / 2)
  await writeOnce(again, ['one more'])
  await again.close()
  const left = entriesByKeyspace(directory).outcomes
  t.ok(left > LIMITS.writeIdsInAll - 1000, 'one write does not wait for all that have expired to go')
  t.ok(left < LIMITS.writeIdsInAll)

  const last = await Store.open(directory)
  t.equal(remembered(last, [...early, ...others]), 0)
  t.equal(remembered(last, ['active', 'one more', ...late]), late.length + 2)
  await last.close()
  t.equal(entriesByKeyspace(directory).outcomes, 2 * late.length + 4)
})
