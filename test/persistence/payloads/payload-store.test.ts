import { EventEmitter, once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Change, Committer } from '../../../persistence/disk/committer.js'
import { Store } from '../../../persistence/store.js'
import { seedOfRun } from '../../random.js'
import { batch, definition, hex, randomNumbers, segmentOf, temporaryDirectory } from '../store-helpers.js'

/** Payloads of mixed lengths: empty, short, and now and then one larger than a segment. */
function randomPayload(random: (below: number) => number): Uint8Array {
  const kind = random(1000)
  const length = kind < 100 ? 0 : kind < 990 ? random(90) : kind < 999 ? random(5000) : random(200_000)
  return new Uint8Array(length).map(() => random(256))
}

/** Appends batches of random payloads, and remembers them in a plain list. */
async function fill(
  store: Store,
  id: number,
  random: (below: number) => number,
  batches: number,
  oracle: Uint8Array[],
): Promise<void> {
  for (let i = 0; i < batches; i++) {
    const rows = random(10) === 0 ? 1 + random(1500) : 1 + random(3)
    const payloads = Array.from({ length: rows }, () => randomPayload(random))
    await store.log.append(id, { ...batch(i, 1), segment: segmentOf(oracle.length, payloads) })
    oracle.push(...payloads)
  }
}

/** Random rows with repeats, and what they should give: rows in the layout of the device's payload columns. */
function randomRequest(random: (below: number) => number, oracle: readonly Uint8Array[], count: number) {
  const rows = new Uint32Array(count * 4).fill(0xdeadbeef)
  const present = new Uint8Array(Math.ceil(count / 8))
  const expected: Uint8Array[] = []
  for (let i = 0; i < count; i++) {
    if (random(5) === 0) {
      expected.push(new Uint8Array(0))
      continue
    }
    const row = random(oracle.length)
    rows[i * 4] = row
    rows[i * 4 + 1] = 0
    present[i >> 3] |= 1 << (i & 7)
    expected.push(oracle[row])
  }
  return { request: { rows, stride: 4, present }, expected: segmentOf(0, expected) }
}

async function checkGathers(
  t: Test,
  store: Store,
  id: number,
  random: (below: number) => number,
  oracle: readonly Uint8Array[],
): Promise<void> {
  for (const count of [0, 1, 7, 8, 9, 1000]) {
    const { request, expected } = randomRequest(random, oracle, count)
    const { offsets, bytes } = await store.payloads.gather(id, request)
    t.equal(
      hex(new Uint8Array(offsets.buffer)),
      hex(new Uint8Array(expected.offsets.buffer)),
      `offsets of ${count}`,
    )
    t.ok(Buffer.from(bytes).equals(expected.bytes), `bytes of ${count}`)
  }
}

const SEED = seedOfRun()

for (const payloadCacheBytes of [0, 100_000, 2 ** 28]) {
  t.test(`gathers what was written, with ${payloadCacheBytes} bytes of memory`, async (t) => {
    t.comment(`TEST_SEED=${SEED}`)
    const random = randomNumbers(SEED)
    const directory = temporaryDirectory(t)
    const oracle: Uint8Array[] = []
    let store = await Store.open(directory, { payloadCacheBytes })
    const { id } = await store.createIndex(definition('a'))
    await fill(store, id, random, 200, oracle)
    await checkGathers(t, store, id, random, oracle)
    await checkGathers(t, store, id, random, oracle)

    const before = store.payloads.stats(id)
    await store.payloads.compact(id)
    const after = store.payloads.stats(id)
    t.ok(after.segments < before.segments / 2, `${before.segments} segments become ${after.segments}`)
    t.same({ ...after, segments: 0 }, { ...before, segments: 0 })
    await checkGathers(t, store, id, random, oracle)
    t.ok(store.payloads.cachedBytes <= payloadCacheBytes, 'the memory is bounded')
    await store.close()

    store = await Store.open(directory, { payloadCacheBytes })
    t.same(store.payloads.stats(id), after)
    await fill(store, id, random, 20, oracle)
    await checkGathers(t, store, id, random, oracle)
    await store.close()
  })
}

t.test('gathers, writes and a compaction at the same time do not disturb each other', async (t) => {
  t.comment(`TEST_SEED=${SEED}`)
  const random = randomNumbers(SEED)
  const store = await Store.open(temporaryDirectory(t), { payloadCacheBytes: 100_000 })
  const { id } = await store.createIndex(definition('a'))
  const oracle: Uint8Array[] = []
  await fill(store, id, random, 500, oracle)
  let compacting = true
  const compaction = store.payloads.compact(id).then(() => {
    compacting = false
  })
  const written = [...oracle]
  const writing = fill(store, id, random, 30, oracle)
  const readers = Array.from({ length: 4 }, async () => {
    do {
      const { request, expected } = randomRequest(random, written, 300)
      const { bytes } = await store.payloads.gather(id, request)
      if (!Buffer.from(bytes).equals(expected.bytes)) t.fail('a gather went wrong')
      await setImmediate()
    } while (compacting)
  })
  await Promise.all([...readers, compaction, writing])
  await checkGathers(t, store, id, random, oracle)
  await store.close()
})

t.test('segments are read that a compaction has replaced on disk and not yet in its list', async (t) => {
  t.comment(`TEST_SEED=${SEED}`)
  const random = randomNumbers(SEED)
  const store = await Store.open(temporaryDirectory(t))
  const { id } = await store.createIndex(definition('a'))
  const oracle: Uint8Array[] = []
  await fill(store, id, random, 100, oracle)
  const { commit } = Committer.prototype
  const gate = new EventEmitter()
  const durable = once(gate, 'durable')
  const told = once(gate, 'told')
  t.intercept(Committer.prototype, 'commit', {
    async value(this: Committer, changes: readonly Change[]) {
      await commit.call(this, changes)
      gate.emit('durable')
      await told
    },
  })
  const compaction = store.payloads.compact(id)
  await durable
  await checkGathers(t, store, id, random, oracle)
  gate.emit('told')
  await compaction
  await checkGathers(t, store, id, random, oracle)
  await store.close()
})

t.test('compaction lets the payloads of dead rows go, and their rows are not given again', async (t) => {
  t.comment(`TEST_SEED=${SEED}`)
  const random = randomNumbers(SEED)
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  const oracle: Uint8Array[] = []
  await fill(store, id, random, 100, oracle)
  const isLive = (row: number) => row > oracle.length / 2 && row % 16 === 0
  const before = store.payloads.stats(id)
  await store.payloads.compact(id, isLive)
  const after = store.payloads.stats(id)
  const live = oracle.flatMap((_, row) => (isLive(row) ? [row] : []))
  const liveBytes = live.reduce((sum, row) => sum + oracle[row].byteLength, 0)
  t.ok(after.bytes < before.bytes, `${before.bytes} bytes become ${after.bytes}`)
  t.ok(after.bytes <= 2 * liveBytes, `${liveBytes} of them are live`)
  t.equal(after.rows, oracle.length)
  const check = async (store: Store) => {
    const rows = new Uint32Array(live.flatMap((row) => [row, 0]))
    const { bytes } = await store.payloads.gather(id, { rows })
    t.ok(Buffer.from(bytes).equals(Buffer.concat(live.map((row) => oracle[row]))), 'live rows are there')
  }
  await check(store)
  await store.payloads.compact(id, () => false)
  t.match(store.payloads.stats(id), { rows: oracle.length, bytes: 0, segments: 1 })
  await store.close()

  const again = await Store.open(directory)
  t.equal(again.payloads.nextRow(id), oracle.length)
  await again.close()
})

t.test('a gather stops before the payloads pass the bytes asked for', async (t) => {
  const store = await Store.open(temporaryDirectory(t))
  const { id } = await store.createIndex(definition('a'))
  const payloads = [10, 20, 30, 40].map((length) => new Uint8Array(length).fill(length))
  await store.log.append(id, { ...batch(1), segment: segmentOf(0, payloads) })
  const rows = new Uint32Array([0, 0, 1, 0, 2, 0, 3, 0])
  const offsets = async (maxBytes: number) => [
    ...(await store.payloads.gather(id, { rows, maxBytes })).offsets,
  ]
  t.same(await offsets(9), [0])
  t.same(await offsets(10), [0, 10])
  t.same(await offsets(99), [0, 10, 30, 60])
  t.same(await offsets(100), [0, 10, 30, 60, 100])
  await store.close()
})

t.test('a damaged segment is found and named', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  const payload = Buffer.from('DAMAGED-'.repeat(4))
  const last = Buffer.from('THE-LAST'.repeat(4))
  await store.log.append(id, { ...batch(1), segment: segmentOf(0, [payload]) })
  await store.log.append(id, { ...batch(1), segment: segmentOf(1, [last]) })
  await store.close()
  const path = join(directory, 'data.mdb')
  const flip = (text: Buffer): void => {
    const data = readFileSync(path)
    for (let at = data.indexOf(text); at >= 0; at = data.indexOf(text, at + 1)) data[at] ^= 1
    writeFileSync(path, data)
  }
  flip(last)
  // From the last one follows which row is next.
  await t.rejects(Store.open(directory), {
    code: 'DAMAGED_FILE',
    message: `segment of index ${id} from row 1 does not match`,
  })
  last[0] ^= 1
  flip(last)
  flip(payload)
  const again = await Store.open(directory)
  const reading = again.payloads.gather(id, { rows: new Uint32Array([0, 0]) })
  await t.rejects(reading, {
    code: 'DAMAGED_FILE',
    message: `segment of index ${id} from row 0 does not match`,
  })
  const beyond = again.payloads.gather(id, { rows: new Uint32Array([0, 1]) })
  await t.rejects(beyond, { code: 'DAMAGED_FILE', message: 'row 4294967296' })
  await again.close()
})
