import { setTimeout } from 'node:timers/promises'
import { type Client, col, connect, count, type Query, relation, sum } from '../../clients/sdk/index.js'
import type { AdapterChoice } from '../../gpu/device/adapter.js'
import { median, type Row } from '../report.js'
import { withServer } from '../server-process.js'

/** What the heavy queries read, by kind of adapter. */
const ROWS = {
  hardware: { left: 2_000_000, right: 200_000, crossed: 100_000 },
  software: { left: 200_000, right: 30_000, crossed: 3000 },
}
/** Different keys: a left row has 123 partners, which makes 247 million pairs, and on the software adapter 18 or 19, which makes 3.7 million. */
const KEYS = 1622

/** Entries of the index that another client reads. */
const ENTRIES = 1 << 16

/** Gets while nothing else goes on. */
const GETS_ALONE = 500

/** How often the heavy query is left, and when. */
const DEPARTURES = 5
const DEPARTURE_MS = 500

/** Calls beside the heavy query, which is asked again until there are so many: a 99th percentile needs hundreds. */
const CALLS_BESIDE = 500

/** What a get may take at the 99th percentile, and a small query after the heavy one's client has left. */
const FLOOR_MS = { get: { hardware: 5, software: 150 }, afterwards: 1000 }

/** Heavy queries by what they are. */
type HeavyQueries = Readonly<Record<'join' | 'product', Query>>

/**
 * What one heavy query costs others, in a server of its own: gets of one key by another client beside it, small queries beside it, and the small query that is
 * asked when the heavy one's client leaves in the middle.
 */
export function benchHeavyQuery(adapter: AdapterChoice, kind: 'hardware' | 'software'): Promise<Row[]> {
  return withServer(['--adapter', adapter], async ({ url }) => {
    const [client, other] = [await connect(url), await connect(url)]
    await load(other, ROWS[kind])
    const heavy = heavyQueries(ROWS[kind])
    const get = () => other.index('entries').getMany(Uint32Array.of(7))
    const ask = () => other.query(smallQuery()).rows()
    await get()
    await ask()
    const rows = [latencyRow('gets, nothing beside', await times(get, GETS_ALONE), {})]
    const floor = { 'floor p99': FLOOR_MS.get[kind] }
    for (const [name, call, query, floors] of [
      ['gets beside a join', get, heavy.join, floor],
      ['gets beside a product', get, heavy.product, floor],
      ['queries of one row beside a join', ask, heavy.join, {}],
    ] as const) {
      const { seconds, latencies } = await beside(() => client.query(query).rows(), call)
      rows.push(latencyRow(name, latencies, { ...floors, 's of the heavy query': seconds }))
    }
    client.close()
    rows.push(await departures(url, heavy.product, ask))
    other.close()
    return rows
  })
}

async function load(
  client: Client,
  { left, right }: { readonly left: number; readonly right: number },
): Promise<void> {
  const columns = [
    { name: 'id', type: 'u32', nullable: false },
    { name: 'k', type: 'u32', nullable: false },
  ] as const
  for (const [name, rows] of Object.entries({ left, right })) {
    await client.createRelation({ name, columns })
    const id = Uint32Array.from({ length: rows }, (_, row) => row)
    await client.relation(name).append({ id, k: id.map((row) => (row * 7919) % KEYS) })
  }
  await client.createIndex({ name: 'entries', keyType: 'u32', payloadKind: 'u32', unique: true })
  const keys = Uint32Array.from({ length: ENTRIES }, (_, i) => i)
  await client.index('entries').insertMany(keys, keys)
}

/** A join with far more pairs than rows, and a product whose pairs are made and tested pass by pass. */
function heavyQueries({ crossed }: { readonly crossed: number }): HeavyQueries {
  const crossing = (alias: string) => relation('right', alias).where(col(`${alias}.id`).lt(crossed))
  return {
    join: relation('left', 'a')
      .join(relation('right', 'b'), { kind: 'left', on: [['a.k', 'b.k']] })
      .groupBy([], { s: sum(col('b.id')) }),
    product: crossing('a')
      .product(crossing('b'))
      .where(col('a.k').plus(col('b.k')).eq(1))
      .groupBy([], { n: count() }),
  }
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

/** Makes calls, one after the other, while heavy work is done again and again. */
async function beside(
  work: () => Promise<unknown>,
  call: () => Promise<unknown>,
): Promise<{ readonly seconds: number; readonly latencies: readonly number[] }> {
  const latencies: number[] = []
  const seconds: number[] = []
  let isDone = false
  const heavy = async () => {
    try {
      while (latencies.length < CALLS_BESIDE) seconds.push((await timeOf(work)) / 1000)
    } finally {
      isDone = true
    }
  }
  const calls = async () => {
    while (!isDone) {
      latencies.push(await timeOf(call))
      await setTimeout(1)
    }
  }
  await Promise.all([heavy(), calls()])
  return { seconds: median(seconds), latencies }
}

/** The next small query after a client has left in the middle of its heavy one. */
async function departures(url: string, heavy: Query, ask: () => Promise<unknown>): Promise<Row> {
  const all: number[] = []
  for (let i = 0; i < DEPARTURES; i++) {
    const leaving = await connect(url)
    const left = leaving
      .query(heavy)
      .rows()
      .catch(() => {})
    await setTimeout(DEPARTURE_MS)
    leaving.close()
    all.push(await timeOf(ask))
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
