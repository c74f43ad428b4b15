import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { type Client, connect, LIMITS, ResultCode } from '../clients/sdk/index.js'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import { childProgram } from './child-program.js'
import { numberedPayloads, scatteredKeys } from './keys.js'
import type { Row } from './report.js'
import type { ClientReport, ClientTask } from './serve-client.js'
import { benchInserts } from './serve-inserts.js'
import { type ServerProcess, withServer } from './server-process.js'

const INDEX = 'numbers'

const BATCHES = [1, 100, 1000, 10_000, 65_536, 262_144]
const DEPTHS = [1, 8]

/** How the server is asked: batches of so many keys, by so many client processes with so many connections each. */
interface Load {
  readonly batch: number
  /** Whether single keys are asked for by `getOne`, else by a request each. */
  readonly getOne?: boolean
  /** Requests under way on each connection. */
  readonly depth: number
  readonly connections: number
  readonly clients: number
}

/** What one connection of one client cannot show. */
const CROWDS: readonly Load[] = [
  { batch: 1, depth: 16, connections: 16, clients: 4 },
  { batch: 1, getOne: true, depth: 16, connections: 16, clients: 4 },
  { batch: 10_000, depth: 16, connections: 1, clients: 8 },
  { batch: 65_536, depth: 8, connections: 1, clients: 8 },
  { batch: 262_144, depth: 8, connections: 1, clients: 4 },
  { batch: 262_144, depth: 4, connections: 1, clients: 8 },
]

/**
 * What comes before all that is measured, unlike the load and the snapshot: code on the way of a small request is compiled once it has run some
 * thousand times, on the server as in a client, and a lone request takes twice as long until then.
 */
const WARM_UP: Load = { batch: 1, depth: 1, connections: 1, clients: 1 }
const WARM_UP_SECONDS = 3

/** Batches of the load that are under way. */
const LOAD_DEPTH = 3

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
 * SDK. All keys are found; some answers of each request are compared. Then inserts into a server of their own.
 */
export async function benchServe({ adapter, logarithm, seconds }: ServeSetting): Promise<Row[]> {
  const bound = 2 ** logarithm
  const lookups = await benchLookups(adapter, bound, seconds)
  return [...lookups, await benchInserts(adapter, bound)]
}

async function benchLookups(adapter: AdapterChoice, bound: number, seconds: number): Promise<Row[]> {
  return withServer(['--adapter', adapter], async (server) => {
    const client = await connect(server.url)
    const rows = [await loadIndex(client, bound)]
    const measurements: readonly Load[] = [
      ...BATCHES.flatMap((batch) => DEPTHS.map((depth) => ({ batch, depth, connections: 1, clients: 1 }))),
      ...CROWDS,
    ]
    const taskOf = ({ clients: _, getOne = false, ...load }: Load, seconds: number): ClientTask => {
      return { url: server.url, index: INDEX, bound, seconds, getOne, ...load }
    }
    await measure(taskOf(WARM_UP, WARM_UP_SECONDS), WARM_UP.clients)
    for (const load of measurements) {
      rows.push(await measure(taskOf(load, seconds), load.clients))
      console.log(`${rows.at(-1)!.name}: ${JSON.stringify(rows.at(-1)!.figures)}`)
    }
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
      const codes = await index.insert(keys, new Uint32Array(numberedPayloads(1, first, count).buffer))
      if (!codes.every((code) => code === ResultCode.inserted)) throw new Error('a key was not inserted')
    }
  }
  await Promise.all(Array.from({ length: LOAD_DEPTH }, lane))
  const loaded = performance.now()
  await client.snapshot(INDEX)
  const figures = {
    'Mkeys/s': bound / (loaded - start) / 1000,
    'snapshot s': (performance.now() - loaded) / 1000,
    'device B/key': (await index.stats()).deviceBytes / bound,
  }
  return { name: `load ${bound} keys, u32 → u32`, figures }
}

async function measure(task: ClientTask, clients: number): Promise<Row> {
  const children = Array.from({ length: clients }, () => startClient(task))
  const reports = Promise.all(children.map(measured))
  // A client that fails before it is ready makes the reports fail.
  await Promise.race([Promise.all(children.map((child) => once(child, 'message'))), reports])
  for (const child of children) child.send('go')
  const all = await reports
  const latencies = all.map((report) => report.latencies)
  const sorted = Float64Array.from(latencies.flatMap((each) => [...each])).sort()
  const { batch, getOne, depth, connections } = task
  const several = clients > 1 ? `, ${clients} clients` : ''
  const each = connections > 1 ? ` of ${connections} connections` : ''
  return {
    name: `${getOne ? 'getOne' : `batches of ${batch}`}, depth ${depth}${several}${each}`,
    figures: {
      'lookups/s': Math.round(all.reduce((sum, { lookups, seconds }) => sum + lookups / seconds, 0)),
      'p50 ms': sorted[Math.floor(sorted.length * 0.5)],
      'p99 ms': sorted[Math.floor(sorted.length * 0.99)],
    },
  }
}

function startClient(task: ClientTask): ChildProcess {
  return fork(childProgram('bench/serve-client'), [JSON.stringify(task)], { serialization: 'advanced' })
}

/** A client's report: the last that it says. */
async function measured(child: ChildProcess): Promise<ClientReport> {
  let report: ClientReport | undefined
  child.on('message', (message) => {
    if (message !== 'ready') report = message as ClientReport
  })
  const [code] = await once(child, 'exit')
  if (report === undefined) throw new Error(`a client ended with ${code} and no report`)
  return report
}

/** What a server costs that has nothing to do but hold an index and a connection. */
async function measureIdle(server: ServerProcess): Promise<Row> {
  await setTimeout(1000)
  const before = server.cpuSeconds
  await setTimeout(IDLE_SECONDS * 1000)
  const share = (server.cpuSeconds - before) / IDLE_SECONDS
  return { name: 'idle', figures: { '% of a core': share * 100, 'RSS MiB': server.residentBytes / 2 ** 20 } }
}
