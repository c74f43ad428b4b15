import { setTimeout } from 'node:timers/promises'
import { type Client, col, connect, count, type Query, relation, sum } from '../../clients/sdk/index.js'
import type { AdapterChoice } from '../../gpu/device/adapter.js'
import type { Row } from '../report.js'
import { withServer } from '../server-process.js'

/** Rows of both sides of the join, and different keys in them: each row of the left side has 18 or 19 partners, which makes 3.7 million pairs. */
const ROWS = { left: 200_000, right: 30_000 }
const KEYS = 1622

/** Entries of the index that another client reads. */
const ENTRIES = 1 << 16

/** Gets while nothing else goes on. */
const GETS_ALONE = 500

/** How often the heavy query is left, and when. */
const DEPARTURES = 5
const DEPARTURE_MS = 2000

/** What a get may take at the 99th percentile, and a small query after the heavy one's client has left. */
const FLOOR_MS = { get: 150, afterwards: 1000 }

/**
 * What one heavy query costs others, in a server of its own: gets of one key by another client beside it, small queries beside it, and the small query that is
 * asked when the heavy one's client leaves in the middle.
 */
export function benchHeavyQuery(adapter: AdapterChoice): Promise<Row[]> {
  return withServer(['--adapter', adapter], async ({ url }) => {
    const [heavy, other] = [await connect(url), await connect(url)]
    await load(other)
    const query = smallQuery()
    const get = () => other.index('entries').get(Uint32Array.of(7))
    await get()
    await other.query(query).rows()
    const alone = await times(get, GETS_ALONE)
    const rows = [latencyRow('gets, nothing beside', alone, {})]
    for (const [name, ask, floor] of [
      ['gets beside a heavy query', get, { 'floor p99': FLOOR_MS.get }],
      ['queries of one row beside it', () => other.query(query).rows(), {}],
    ] as const) {
      const begin = performance.now()
      const { result, latencies } = await beside(heavy.query(heavyQuery()).rows(), ask)
      rows.push(latencyRow(name, latencies, floor))
      const { s } = result[0] ?? {}
      rows.push({ name: `the heavy query (${s})`, figures: { seconds: (performance.now() - begin) / 1000 } })
    }
    heavy.close()
    rows.push(await departures(url, other, query))
    other.close()
    return rows
  })
}

async function load(client: Client): Promise<void> {
  const columns = [
    { name: 'id', type: 'u32', nullable: false },
    { name: 'k', type: 'u32', nullable: false },
  ] as const
  for (const [name, rows] of Object.entries(ROWS)) {
    await client.createRelation({ name, columns })
    const id = Uint32Array.from({ length: rows }, (_, row) => row)
    await client.relation(name).append({ id, k: id.map((row) => (row * 7919) % KEYS) })
  }
  await client.createIndex({ name: 'entries', keyType: 'u32', payloadKind: 'u32', unique: true })
  const keys = Uint32Array.from({ length: ENTRIES }, (_, i) => i)
  await client.index('entries').insert(keys, keys)
}

function heavyQuery(): Query {
  const right = relation('right', 'b')
  return relation('left', 'a')
    .join(right, { kind: 'left', on: [['a.k', 'b.k']] })
    .groupBy([], { s: sum(col('b.id')) })
}

function smallQuery(): Query {
  return relation('right').where(col('id').lt(10)).groupBy([], { n: count() })
}

/** Milliseconds of each of several calls, one after the other. */
async function times(call: () => Promise<unknown>, calls: number): Promise<number[]> {
  const all: number[] = []
  for (let i = 0; i < calls; i++) all.push(await timeOf(call))
  return all
}

async function timeOf(call: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await call()
  return performance.now() - begin
}

/** Makes calls, one after the other, until something else is done. */
async function beside<T>(
  work: Promise<T>,
  call: () => Promise<unknown>,
): Promise<{ readonly result: T; readonly latencies: readonly number[] }> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  const latencies: number[] = []
  while (!isDone) {
    latencies.push(await timeOf(call))
    await setTimeout(1)
  }
  return { result: await done, latencies }
}

/** The next small query after a client has left in the middle of its heavy one. */
async function departures(url: string, other: Client, query: Query): Promise<Row> {
  const all: number[] = []
  for (let i = 0; i < DEPARTURES; i++) {
    const leaving = await connect(url)
    const left = leaving
      .query(heavyQuery())
      .rows()
      .catch(() => {})
    await setTimeout(DEPARTURE_MS)
    leaving.close()
    all.push(await timeOf(() => other.query(query).rows()))
    await left
  }
  return latencyRow('the next query when its client has left', all, { 'floor max': FLOOR_MS.afterwards })
}

function latencyRow(name: string, latencies: readonly number[], floors: Row['figures']): Row {
  const sorted = [...latencies].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
  const figures = { calls: sorted.length, 'p50 ms': at(0.5), 'p99 ms': at(0.99), 'max ms': at(1) }
  return { name, figures: { ...figures, ...floors } }
}
