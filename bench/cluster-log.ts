import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect as connectNats } from '@nats-io/transport-node'
import { type LocalNats, requireNatsServer } from '../clients/cli/cluster/local-nats.js'
import { connect } from '../clients/sdk/index.js'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import { type Ends, startNats } from './nats-servers.js'
import { median, type Row, spreadOf } from './report.js'
import { ServerProcess } from './server-process.js'

const BATCHES = [1, 100, 8192]
const CLIENTS = [1, 8]
const MOST_CLIENTS = Math.max(...CLIENTS)
const ROUNDS = 5
const KEYS = 2 ** 20
/** Bytes of messages that are published beside: about those of the entries of one put, and of 8192. */
const MESSAGE_BYTES = [300, 74_000]
/** Between those messages: servers that have just been asked answer sooner than after what a put takes beside. */
const REST_MS = [0, 5]
const WARM_UP_CALLS = 20

/** Does so many things in one call, and resolves when they are durable. */
type Call = (count: number) => Promise<unknown>

/** What is measured: a call of each of its clients. */
interface Subject {
  readonly name: string
  readonly clients: readonly Call[]
}

interface Load {
  readonly title: string
  readonly clients: number
  readonly count: number
  readonly seconds: number
  /** Milliseconds of rest before each call, which do not count. */
  readonly rest: number
}

/**
 * What the log of a cluster costs: durable puts of a server alone, and of the only node of a cluster with its log on one NATS server, and on three, in turns.
 * Beside them what a NATS client takes to publish messages of such sizes to a stream of its own.
 */
export async function benchClusterLog(adapter: AdapterChoice, seconds: number): Promise<Row[]> {
  requireNatsServer()
  // NATS servers do not hear Ctrl-C, and end with this process.
  process.once('SIGINT', () => process.exit(130))
  const flags = ['--adapter', adapter]
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-log-'))
  const ends: Ends = [() => rmSync(directory, { recursive: true, force: true })]
  try {
    const one = await startNats(join(directory, 'one'), 1, ends)
    const three = await startNats(join(directory, 'three'), 3, ends)
    const servers = [
      await startServer('LMDB alone', join(directory, 'alone'), flags, ends),
      await startServer('one NATS server', join(directory, 'node-1'), [...flags, ...member(one)], ends),
      await startServer('three NATS servers', join(directory, 'node-3'), [...flags, ...member(three)], ends),
    ]
    const streams = [
      await openStream('one NATS server', one, ends),
      await openStream('three NATS servers', three, ends),
    ]
    const rows: Row[] = []
    for (const clients of CLIENTS) {
      for (const count of BATCHES) {
        const title = `${clients} ${clients === 1 ? 'client' : 'clients'}, batches of ${count}`
        rows.push(...(await inTurns(servers, { title, clients, count, seconds, rest: 0 }, 'puts/s', count)))
      }
    }
    for (const count of MESSAGE_BYTES) {
      for (const rest of REST_MS) {
        const title = `messages of ${count} bytes alone${rest > 0 ? `, ${rest} ms apart` : ''}`
        rows.push(...(await inTurns(streams, { title, clients: 1, count, seconds, rest }, 'messages/s', 1)))
      }
    }
    return rows
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

/** @param each what a call does of what is counted */
async function inTurns(subjects: readonly Subject[], load: Load, unit: string, each: number): Promise<Row[]> {
  const measured = subjects.map((subject) => ({ subject, rates: [] as number[], times: [] as number[] }))
  for (let round = 0; round < ROUNDS; round++) {
    for (const { subject, rates, times } of measured) {
      const found = await callsOf(subject, load)
      rates.push((found.times.length * each) / found.seconds)
      times.push(...found.times)
    }
  }
  return measured.map(({ subject, rates, times }) => {
    const p99 = [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!
    const figures = { ...spreadOf(unit, rates), 'p50 ms': median(times), 'p99 ms': p99 }
    return { name: `${load.title}: ${subject.name}`, figures }
  })
}

/** @returns milliseconds of each call */
async function callsOf({ clients }: Subject, load: Load) {
  const times: number[] = []
  const start = performance.now()
  const work = clients.slice(0, load.clients).map(async (call) => {
    while (performance.now() < start + 1000 * load.seconds) {
      if (load.rest > 0) await pause(load.rest)
      const since = performance.now()
      await call(load.count)
      times.push(performance.now() - since)
    }
  })
  await Promise.all(work)
  return { times, seconds: (performance.now() - start) / 1000 }
}

function member({ addresses }: LocalNats): readonly string[] {
  return ['--cluster', 'bench', '--nats', addresses, '--nats-unsafe']
}

async function startServer(
  name: string,
  directory: string,
  flags: readonly string[],
  ends: Ends,
): Promise<Subject> {
  const server = await ServerProcess.start(directory, flags)
  ends.push(() => server.kill())
  const clients: Call[] = []
  for (let i = 0; i < MOST_CLIENTS; i++) {
    const client = await connect(server.url)
    ends.push(() => client.close({ now: true }))
    const definition = { name: 'puts', keyType: 'u32', payloadKind: 'u32', unique: true } as const
    const index = await client.createIndex(definition, { ifNotExists: true })
    const call = async (count: number) => {
      const keys = Uint32Array.from({ length: count }, () => Math.random() * KEYS)
      await (count === 1 ? index.put(keys[0]!, i) : index.putMany(keys, keys))
    }
    for (const count of BATCHES) for (let warm = 0; warm < WARM_UP_CALLS; warm++) await call(count)
    clients.push(call)
  }
  return { name, clients }
}

/** A stream as that of a log: each message names the one before. */
async function openStream(name: string, { addresses, servers }: LocalNats, ends: Ends): Promise<Subject> {
  const connection = await connectNats({ servers: addresses.split(',') })
  ends.push(() => connection.close())
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'bench', subjects: ['bench'], num_replicas: servers.length })
  const client = jetstream(connection)
  let last = 0
  const call = async (bytes: number) => {
    const expect = { lastSubjectSequence: last }
    last = (await client.publish('bench', new Uint8Array(bytes), { expect })).seq
  }
  for (const bytes of MESSAGE_BYTES) for (let warm = 0; warm < WARM_UP_CALLS; warm++) await call(bytes)
  return { name, clients: [call] }
}
