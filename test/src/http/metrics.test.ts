import t from 'tap'
import type { Section } from '../../../protocol/frame.js'
import { u32 } from '../engine/open-engine.js'
import { RawClient } from '../server/raw-client.js'
import { start } from '../server/start.js'
import { scrape, total } from './scrape.js'

const column = (...keys: number[]): Section => ({ type: 'u32', bytes: u32(...keys) })
const blob = (bytes: Uint8Array): Section => ({ type: 'bytes', bytes })
const numbers = { op: 'createIndex', index: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false }

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
    'op="get",code="UNKNOWN_INDEX"': 1,
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
  t.equal(metrics.get('warpdex_request_seconds_count')?.get('op="get"'), 21)
  t.equal(metrics.get('warpdex_request_keys_bucket')?.get('op="get",le="1"'), 0)
  t.equal(metrics.get('warpdex_request_keys_bucket')?.get('op="get",le="4"'), 20)
  t.equal(total(metrics, 'warpdex_connections'), 1)
  t.equal(total(metrics, 'warpdex_requests_in_flight'), 0)
  t.equal(metrics.get('warpdex_index_keys')?.get('index="numbers"'), 2)
})
