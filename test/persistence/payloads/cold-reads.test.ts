import t, { type Test } from 'tap'
import { Store } from '../../../persistence/store.js'
import { batch, definition, segmentOf, temporaryDirectory } from '../store-helpers.js'

/** A little less than a segment holds, so that each payload has its own. */
const PAYLOAD_BYTES = 40_000
const ROWS = 400

async function openStore(t: Test, payloadCacheBytes: number) {
  const store = await Store.open(temporaryDirectory(t), { payloadCacheBytes })
  t.teardown(() => store.close())
  const { id } = await store.createIndex(definition('a'))
  const payloads = Array.from({ length: ROWS }, (_, i) => new Uint8Array(PAYLOAD_BYTES).fill(i % 251))
  await store.log.append(id, { ...batch(0, 1), segment: segmentOf(0, payloads) })
  t.equal(store.payloads.stats(id).segments, ROWS)
  // The last row first: the arena is made, and the rest is in no order.
  const rows = new Uint32Array(2 * ROWS).map((_, i) => (i % 2 === 0 ? ((i / 2) * 83 + ROWS - 1) % ROWS : 0))
  return { store, id, rows }
}

for (const [where, payloadCacheBytes] of [
  ['the arena', 2 ** 26],
  ['no arena', 0],
] as const) {
  t.test(`others have their turns while many segments are read into ${where}`, async (t) => {
    const { store, id, rows } = await openStore(t, payloadCacheBytes)
    await store.payloads.gather(id, { rows: rows.subarray(0, 2) })
    let turns = 0
    let done = false
    const count = () => {
      turns++
      if (!done) setImmediate(count)
    }
    setImmediate(count)
    const { offsets, bytes } = await store.payloads.gather(id, { rows })
    done = true
    t.ok(turns >= Math.floor(ROWS / 128), `${turns} turns`)
    t.equal(offsets[ROWS], ROWS * PAYLOAD_BYTES)
    for (let i = 0; i < ROWS; i++) {
      if (bytes[offsets[i]] !== rows[2 * i] % 251 || bytes[offsets[i + 1] - 1] !== rows[2 * i] % 251) {
        t.fail(`row ${rows[2 * i]}`)
      }
    }
  })

  t.test(`a store may be closed while segments are read into ${where}`, async (t) => {
    const { store, id, rows } = await openStore(t, payloadCacheBytes)
    await store.payloads.gather(id, { rows: rows.subarray(0, 2) })
    const gathers = Array.from({ length: 8 }, () => store.payloads.gather(id, { rows }))
    const [, ...outcomes] = await Promise.allSettled([store.close(), ...gathers])
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') t.equal(outcome.value.offsets[ROWS], ROWS * PAYLOAD_BYTES)
      else t.match(String(outcome.reason), /closed/)
    }
  })
}
