import { setTimeout } from 'node:timers/promises'
import { type Client, connect, LIMITS, ResultCode } from '../clients/sdk/index.js'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import { LoadProcesses } from './door/load.js'
import { INDEX } from './door/targets.js'
import { numberedPayloads, scatteredKeys } from './keys.js'
import type { Row } from './report.js'
import { benchInserts } from './serve-inserts.js'
import { benchPuts } from './serve-puts.js'
import { type ServerProcess, withServer } from './server-process.js'

const BATCHES = [1, 100, 1000, 10_000, 65_536, 262_144]
const DEPTHS = [1, 8]

/** How the server is asked: batches of so many keys, by so many client processes with so many connections each. */
interface Load {
  readonly batch: number
  /** Whether single keys are asked for by `get`, else by a request each. */
  readonly single?: boolean
  /** Requests under way on each connection. */
  readonly depth: number
  readonly connections: number
  readonly processes: number
}

/** What one connection of one client cannot show. */
const CROWDS: readonly Load[] = [
  { batch: 1, depth: 16, connections: 16, processes: 4 },
  { batch: 1, single: true, depth: 16, connections: 16, processes: 4 },
  { batch: 10_000, depth: 16, connections: 1, processes: 8 },
  { batch: 65_536, depth: 8, connections: 1, processes: 8 },
  { batch: 262_144, depth: 8, connections: 1, processes: 4 },
  { batch: 262_144, depth: 4, connections: 1, processes: 8 },
]

/**
 * What comes before all that is measured, unlike the load and the snapshot: code on the way of a small request is compiled once it has run some
 * thousand times, on the server as in a client, and a lone request takes twice as long until then.
 */
const WARM_UP: Load = { batch: 1, depth: 1, connections: 1, processes: 1 }
const WARM_UP_SECONDS = 3

/** Share of the measured time that is spent before it, and milliseconds of it at least. */
const WARM_UP_SHARE = 0.25
const LEAST_WARM_UP_MS = 1000

const THIS_BUILD = new URL('../', import.meta.url).href

/** Batches of the load that are under way. */
const LOAD_DEPTH = 3

/** What garbage a load has left is collected in the seconds after it, which is not idling. */
const SETTLING_SECONDS = 20
const IDLE_SECONDS = 10

export interface ServeSetting {
  readonly adapter: AdapterChoice
  /** Logarithm of the number of keys. */
  readonly logarithm: number
  /** Of each measurement. */
  readonly seconds: number
}

/**
 * Lookups end to end over loopback WebSocket: a server process with its default settings, and client processes that use the
 * SDK. All keys are found; some answers of each request are compared. Then inserts and puts into servers of their own.
 */
export async function benchServe({ adapter, logarithm, seconds }: ServeSetting): Promise<Row[]> {
  const bound = 2 ** logarithm
  const lookups = await benchLookups(adapter, bound, seconds)
  return [...lookups, await benchInserts(adapter, bound), await benchPuts(adapter)]
}

async function benchLookups(adapter: AdapterChoice, bound: number, seconds: number): Promise<Row[]> {
  return withServer(['--adapter', adapter], async (server) => {
    const client = await connect(server.url)
    const rows = [await loadIndex(client, bound)]
    const loads: readonly Load[] = [
      ...BATCHES.flatMap((batch) => DEPTHS.map((depth) => ({ batch, depth, connections: 1, processes: 1 }))),
      ...CROWDS,
    ]
    const clients = new LoadProcesses()
    await measure(clients, server.url, bound, WARM_UP, WARM_UP_SECONDS)
    for (const load of loads) {
      rows.push(await measure(clients, server.url, bound, load, seconds))
      console.log(`${rows.at(-1)!.name}: ${JSON.stringify(rows.at(-1)!.figures)}`)
    }
    await clients.stop()
    rows.push(await measureIdle(server))
    await client.close()
    return rows
  })
}

/** Loads the keys in the largest batches that there are, and takes the snapshot that would else be taken meanwhile. */
async function loadIndex(client: Client, bound: number): Promise<Row> {
  await client.createIndex({ name: INDEX, keyType: 'u32', payloadKind: 'u32', unique: false })
  const index = client.index<'u32', 'u32'>(INDEX)
  const start = performance.now()
  let next = 0
  const lane = async () => {
    while (next < bound) {
      const first = next
      const count = Math.min(LIMITS.batchItems, bound - first)
      next += count
      const keys = new Uint32Array(scatteredKeys(1, first, count).buffer)
      const codes = await index.insertMany(keys, new Uint32Array(numberedPayloads(1, first, count).buffer))
      if (!codes.every((code) => code === ResultCode.inserted)) throw new Error('a key was not inserted')
    }
  }
  await Promise.all(Array.from({ length: LOAD_DEPTH }, lane))
  const loaded = performance.now()
  await client.takeSnapshot(INDEX)
  const figures = {
    'Mkeys/s': bound / (loaded - start) / 1000,
    'snapshot s': (performance.now() - loaded) / 1000,
    'device B/key': (await index.stats()).deviceBytes / bound,
  }
  return { name: `load ${bound} keys, u32 → u32`, figures }
}

async function measure(
  clients: LoadProcesses,
  url: string,
  bound: number,
  load: Load,
  seconds: number,
): Promise<Row> {
  const { batch, single = false, depth, connections, processes } = load
  const target = { kind: 'server', url, sdk: THIS_BUILD, single } as const
  const warmUpMs = Math.max(LEAST_WARM_UP_MS, seconds * WARM_UP_SHARE * 1000)
  const task = { target, bound, batch, depth, connections, warmUpMs, measuredMs: seconds * 1000 }
  const { keys, p50, p99 } = await clients.run(task, processes)
  const several = processes > 1 ? `, ${processes} clients` : ''
  const each = connections > 1 ? ` of ${connections} connections` : ''
  return {
    name: `${single ? 'single gets' : `batches of ${batch}`}, depth ${depth}${several}${each}`,
    figures: { 'lookups/s': Math.round(keys), 'p50 ms': p50, 'p99 ms': p99 },
  }
}

/** What a server costs that has nothing to do but hold an index and a connection. */
async function measureIdle(server: ServerProcess): Promise<Row> {
  await setTimeout(SETTLING_SECONDS * 1000)
  const before = server.cpuSeconds
  await setTimeout(IDLE_SECONDS * 1000)
  const share = (server.cpuSeconds - before) / IDLE_SECONDS
  return { name: 'idle', figures: { '% of a core': share * 100, 'RSS MiB': server.residentBytes / 2 ** 20 } }
}
