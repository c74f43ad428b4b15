import t from 'tap'
import { PAGE_BYTES } from '../../../gpu/memory/slab.js'
import type { Section } from '../../../protocol/frame.js'
import { WriteOp } from '../../../protocol/types.js'
import { METERED_MEMBERS } from '../../../src/http/member-gauges.js'
import { LISTED } from '../../../src/http/status.js'
import { writeTo } from '../../writes.js'
import { u32 } from '../engine/open-engine.js'
import { RawClient } from '../server/raw-client.js'
import { start } from '../server/start.js'
import { scrape, total } from './scrape.js'

const column = (...keys: number[]): Section => ({ type: 'u32', bytes: u32(...keys) })
const blob = (bytes: Uint8Array): Section => ({ type: 'bytes', bytes })
const numbers = { op: 'createIndex', index: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false }

t.test('stages, and what shares dispatches and log records', async (t) => {
  const { url } = await start(t)
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 1, ...numbers })
  const columns = { keys: column(1, 2), payloads: blob(u32(10, 20)) }
  for (let id = 2; id < 34; id++) client.send({ id, op: 'insert', index: 'numbers' }, columns)
  for (let id = 34; id < 98; id++) client.send({ id, op: 'get', index: 'numbers' }, { keys: column(1) })
  for (let id = 2; id < 98; id++) await client.reply()
  await client.ask({ id: 98, op: 'snapshot' })
  const metrics = await scrape(url)
  const stages = metrics.get('warpdex_stage_seconds_count')
  const [dispatches, records] = ['warpdex_shared_dispatches_total', 'warpdex_log_records_total'].map((name) =>
    total(metrics, name),
  )
  t.equal(total(metrics, 'warpdex_small_reads_total'), 64)
  t.ok(dispatches >= 1 && dispatches < 64, `${dispatches} dispatches`)
  t.equal(total(metrics, 'warpdex_logged_writes_total'), 32)
  t.ok(records >= 1 && records < 32, `${records} records`)
  t.equal(metrics.get('warpdex_index_log_records')?.get('index="numbers"'), records)
  t.ok(total(metrics, 'warpdex_logged_bytes_total') > 32 * 16)
  t.equal(stages?.get('stage="log"'), records)
  t.equal(stages?.get('stage="coalesce"'), dispatches)
  t.equal(stages?.get('stage="queue"'), 32 + 64 + 2, 'the snapshot and the creation wait for their turn, too')
  t.equal(stages?.get('stage="device"'), dispatches + records)
  // One in sixteen of the requests that came to be decoded, an open among them, and of those that were answered.
  t.equal(stages?.get('stage="decode"'), Math.ceil(99 / 16))
  t.equal(stages?.get('stage="reply"'), Math.ceil(99 / 16))
  t.equal(metrics.get('warpdex_events_total')?.get('event="snapshot"'), 1)
})

t.test('histograms add up', async (t) => {
  const { url } = await start(t)
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 1, ...numbers })
  const sizes = [1, 1, 2, 4, 5, 64, 65, 1000]
  for (const size of sizes) {
    await client.ask({ id: 2, op: 'get', index: 'numbers' }, { keys: column(...Array<number>(size).fill(7)) })
  }
  const metrics = await scrape(url)
  const buckets = [...(metrics.get('warpdex_request_keys_bucket') ?? [])].flatMap(([labels, count]) => {
    const le = /^op="get",le="(?<le>.*)"$/.exec(labels)?.groups?.le
    return le === undefined ? [] : [[le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), count] as const]
  })
  t.equal(buckets.length, 12)
  for (const [le, count] of buckets) t.equal(count, sizes.filter((size) => size <= le).length, `up to ${le}`)
  const sum = sizes.reduce((all, size) => all + size, 0)
  t.equal(metrics.get('warpdex_request_keys_sum')?.get('op="get"'), sum)
  const latency = metrics.get('warpdex_request_seconds_bucket')
  t.equal(latency?.get('op="get",le="+Inf"'), sizes.length)
  t.ok((metrics.get('warpdex_request_seconds_sum')?.get('op="get"') ?? 0) > 0)
})

t.test('however many indexes there are, series are bounded, and nothing is left out of sums', async (t) => {
  const { url, engine } = await start(t)
  const few = [...(await scrape(url)).values()].reduce((sum, series) => sum + series.size, 0)
  const count = METERED_MEMBERS + 7
  for (let i = 0; i < count; i++) {
    const name = i === 0 ? 'a "quoted\\" name' : `index ${i}`
    await engine.createIndex({ name, keyType: 'u32', payloadKind: 'u32', unique: true })
    const keys = u32(...Array.from({ length: i + 1 }, (_, key) => key))
    await writeTo(engine.index(name), { ops: WriteOp.insert, keys, payloads: keys })
  }
  const metrics = await scrape(url)
  t.equal(total(metrics, 'warpdex_indexes'), count)
  const keys = metrics.get('warpdex_index_keys')
  t.equal(keys?.size, METERED_MEMBERS + 1)
  t.equal(total(metrics, 'warpdex_index_keys'), (count * (count + 1)) / 2)
  t.equal(keys?.get('index=""'), (7 * 8) / 2, 'the smallest are one series')
  t.equal(metrics.get('warpdex_index_region_bytes')?.size, METERED_MEMBERS * 3)
  const series = [...metrics.values()].reduce((sum, { size }) => sum + size, 0)
  t.ok(series <= few + (METERED_MEMBERS + 1) * 30, `${series} series`)
  const status = (await (await fetch(`${url.replace('ws', 'http')}/status.json`)).json()) as {
    readonly indexes: readonly { readonly name: string }[]
    readonly unlisted: number
  }
  t.same([status.indexes.length, status.unlisted], [LISTED, count - LISTED])
  t.equal(status.indexes[0].name, `index ${count - 1}`, 'the largest first')
})

t.test('relations, and the sums of kept results', async (t) => {
  const { url, engine } = await start(t)
  for (let i = 0; i < METERED_MEMBERS + 3; i++) {
    const name = `relation ${i}`
    await engine.createRelation({ name, columns: [{ name: 'k', type: 'u32', nullable: false }] })
    if (i > 1) continue
    const values = u32(...Array.from({ length: 5000 * (2 - i) }, (_, key) => key))
    const batch = { rows: values.byteLength / 4, columns: new Map([['k', { values }]]) }
    for (let append = 0; append <= 2 * i; append++) await engine.relation(name).append(batch)
  }
  const query = { op: 'limit', rows: 7, input: { op: 'scan', relation: 'relation 0' } }
  for (const name of ['a', 'b']) await engine.queries.keep(query, { name, seconds: 60 }, { cancelled: false })
  const metrics = await scrape(url)
  t.equal(total(metrics, 'warpdex_relations'), METERED_MEMBERS + 3)
  t.equal(metrics.get('warpdex_relation_rows')?.size, METERED_MEMBERS + 1)
  t.equal(metrics.get('warpdex_relation_rows')?.get('relation="relation 0"'), 10_000)
  t.equal(metrics.get('warpdex_relation_appends')?.get('relation="relation 1"'), 3)
  t.equal(metrics.get('warpdex_relation_log_position')?.get('relation="relation 1"'), 3)
  t.equal(metrics.get('warpdex_relation_device_bytes')?.get('relation=""'), 3 * PAGE_BYTES)
  const columns = metrics.get('warpdex_slab_bytes')?.get('sort="columns",content="taken"')
  t.equal(columns, total(metrics, 'warpdex_relation_device_bytes') + 2 * PAGE_BYTES)
  t.equal(total(metrics, 'warpdex_kept_results'), 2)
  t.equal(total(metrics, 'warpdex_kept_result_rows'), 14)
  t.equal(total(metrics, 'warpdex_kept_result_device_bytes'), 2 * PAGE_BYTES)
  const status = (await (await fetch(`${url.replace('ws', 'http')}/status.json`)).json()) as {
    readonly relations: readonly { readonly name: string }[]
    readonly unlistedRelations: number
  }
  t.same([status.relations.length, status.unlistedRelations], [LISTED, 5])
  t.match(status.relations[0], { name: 'relation 1', rows: 15_000, resident: true, appends: 3 })
})

t.test('metrics say what was asked and answered', async (t) => {
  const { url } = await start(t)
  const before = await scrape(url)
  t.equal(total(before, 'warpdex_requests_total'), 0)
  const client = await RawClient.connect(t, url)
  const expected = { bytesIn: 0, bytesOut: 0, requests: 0 }
  client.socket.on('message', (data: Buffer) => {
    expected.bytesOut += data.byteLength
  })
  await client.ask({ id: 1, ...numbers })
  for (let i = 0; i < 20; i++)
    await client.ask({ id: 2, op: 'get', index: 'numbers' }, { keys: column(1, 2, 3) })
  await client.ask(
    { id: 3, op: 'insert', index: 'numbers' },
    { keys: column(1, 2), payloads: blob(u32(10, 20)) },
  )
  await client.ask({ id: 4, op: 'scan', index: 'numbers', limit: 5 })
  await client.ask({ id: 5, op: 'get', index: 'other' }, { keys: column(1) })
  await client.ask({ id: 6, op: 'dance' })
  const metrics = await scrape(url)
  const requests = metrics.get('warpdex_requests_total')
  t.strictSame(Object.fromEntries(requests ?? []), {
    'op="createIndex",code="OK"': 1,
    'op="get",code="OK"': 20,
    'op="open",code="OK"': 1,
    'op="open",code="UNKNOWN_INDEX"': 1,
    'op="scan",code="OK"': 1,
    'op="insert",code="OK"': 1,
    'op="unknown",code="BAD_REQUEST"': 1,
  })
  t.strictSame(Object.fromEntries(metrics.get('warpdex_keys_total') ?? []), {
    'op="get"': 60,
    'op="scan"': 1,
    'op="insert"': 2,
  })
  t.equal(total(metrics, 'warpdex_sent_bytes_total'), expected.bytesOut)
  t.equal(metrics.get('warpdex_request_seconds_count')?.get('op="get"'), 20)
  t.equal(metrics.get('warpdex_request_keys_bucket')?.get('op="get",le="1"'), 0)
  t.equal(metrics.get('warpdex_request_keys_bucket')?.get('op="get",le="4"'), 20)
  t.equal(total(metrics, 'warpdex_connections'), 1)
  t.equal(total(metrics, 'warpdex_requests_in_flight'), 0)
  t.equal(metrics.get('warpdex_index_keys')?.get('index="numbers"'), 2)
})
