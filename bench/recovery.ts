import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Client, type Index, LIMITS, ResultCode } from '../clients/sdk/index.js'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import { uniformCode } from '../protocol/uniform-code.js'
import { childProgram } from './child-program.js'
import { INDEX, sdkOf } from './door/targets.js'
import { numberedPayloads, scatteredKeys } from './keys.js'
import type { Row } from './report.js'
import { ServerProcess } from './server-process.js'

const REPEATS = 2

/** Batches of the load that are under way. */
const LOAD_DEPTH = 3

/** Inserts beside which a snapshot is taken, and as many without one: their rows, those of a request, and requests under way. */
const INSERTED_ROWS = 2 ** 22
const BATCH_ROWS = 65_536
const DEPTH = 8

/** Of the largest pages. */
const SCAN_PAGES = 8

export interface RecoverySetting {
  readonly adapter: AdapterChoice
  /** Logarithm of the number of keys that are loaded. */
  readonly logarithm: number
  /** Folder of the compiled modules of another build, to be measured in turns with this one. */
  readonly against: string | undefined
}

/** A build: the program of its command line, and the folder of its compiled modules. */
interface Build {
  readonly name: string
  readonly program: string
  readonly dist: string
}

type Numbers = Index<'u32', 'u32'>

/**
 * What durability costs, u32 → u32 over loopback WebSocket: a load, a snapshot of it, inserts without and beside a snapshot, scans, and the time
 * after `kill -9` until a new process answers.
 */
export async function benchRecovery({ adapter, logarithm, against }: RecoverySetting): Promise<Row[]> {
  const builds = [
    { name: 'this', program: childProgram('clients/cli/main'), dist: new URL('../', import.meta.url).href },
  ]
  if (against !== undefined) {
    const dist = pathToFileURL(`${resolve(against)}/`).href
    builds.push({ name: 'before', program: resolve(against, 'clients/cli/main.js'), dist })
  }
  const rows: Row[] = []
  for (let repeat = 1; repeat <= REPEATS; repeat++) {
    for (const build of repeat % 2 === 1 ? builds : builds.toReversed()) {
      const figures = await measureBuild(build, adapter, 2 ** logarithm)
      rows.push({ name: `2^${logarithm} keys, ${build.name}, run ${repeat}`, figures })
      console.log(`${rows.at(-1)!.name}: ${JSON.stringify(figures)}`)
    }
  }
  return rows
}

async function measureBuild(build: Build, adapter: AdapterChoice, rows: number): Promise<Row['figures']> {
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-bench-'))
  const flags = ['--adapter', adapter]
  let server: ServerProcess | undefined
  try {
    server = await ServerProcess.start(directory, flags, build.program)
    const figures = await measureServer(build, server.url, rows)
    await server.kill()
    const killed = performance.now()
    server = await ServerProcess.start(directory, flags, build.program)
    await withIndex(build, server.url, (index) => check(index, rows + 2 * INSERTED_ROWS))
    return { ...figures, 'recovery s': (performance.now() - killed) / 1000 }
  } finally {
    await server?.kill()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measureServer(build: Build, url: string, rows: number): Promise<Row['figures']> {
  return withIndex(build, url, async (index, client) => {
    const { seconds: load } = await insert(index, 0, rows, LIMITS.batchItems, LOAD_DEPTH)
    const snapshot = await timed(() => client.takeSnapshot(INDEX))
    const alone = await insert(index, rows, INSERTED_ROWS, BATCH_ROWS, DEPTH)
    const taken = timed(() => client.takeSnapshot(INDEX))
    const beside = await insert(index, rows + INSERTED_ROWS, INSERTED_ROWS, BATCH_ROWS, DEPTH)
    const besideWrites = await taken
    let scanned = 0
    const scan = await timed(async () => {
      const pages = index
        .entries({ limit: SCAN_PAGES * LIMITS.scanEntries, pageSize: LIMITS.scanEntries })
        .pages()
      for await (const page of pages) scanned += page.length
    })
    return {
      'load Mrows/s': rows / load / 1e6,
      'snapshot s': snapshot,
      'inserts Mrows/s': INSERTED_ROWS / alone.seconds / 1e6,
      'p99 ms': alone.p99,
      'beside a snapshot Mrows/s': INSERTED_ROWS / beside.seconds / 1e6,
      'its p99 ms': beside.p99,
      'snapshot beside s': besideWrites,
      'scan Mentries/s': scanned / scan / 1e6,
    }
  })
}

async function withIndex<T>(
  { dist }: Build,
  url: string,
  work: (index: Numbers, client: Client) => Promise<T>,
): Promise<T> {
  const { connect } = await sdkOf(dist)
  const client = await connect(url)
  try {
    const names = (await client.listIndexes()).map(({ name }) => name)
    if (!names.includes(INDEX)) {
      await client.createIndex({ name: INDEX, keyType: 'u32', payloadKind: 'u32', unique: false })
    }
    return await work(client.index<'u32', 'u32'>(INDEX), client)
  } finally {
    await client.close({ now: true })
  }
}

/** Inserts rows number `start` on. */
async function insert(index: Numbers, start: number, rows: number, batch: number, depth: number) {
  const latencies: number[] = []
  const since = performance.now()
  const end = start + rows
  let next = start
  const lane = async () => {
    while (next < end) {
      const first = next
      const count = Math.min(batch, end - first)
      next += count
      const keys = new Uint32Array(scatteredKeys(1, first, count).buffer)
      const payloads = new Uint32Array(numberedPayloads(1, first, count).buffer)
      const sent = performance.now()
      const codes = await index.insertMany(keys, payloads)
      latencies.push(performance.now() - sent)
      if (uniformCode(codes) !== ResultCode.inserted) throw new Error('a key was not inserted')
    }
  }
  await Promise.all(Array.from({ length: depth }, lane))
  const seconds = (performance.now() - since) / 1000
  latencies.sort((a, b) => a - b)
  return { seconds, p99: latencies[Math.floor(latencies.length * 0.99)]! }
}

async function check(index: Numbers, rows: number): Promise<void> {
  const step = Math.ceil(rows / BATCH_ROWS)
  const numbers = Array.from({ length: Math.floor(rows / step) }, (_, i) => i * step)
  const keys = numbers.map((number) => new Uint32Array(scatteredKeys(1, number, 1).buffer)[0]!)
  const answers = await index.getMany(Uint32Array.from(keys))
  if (numbers.some((number, i) => answers.payload(i) !== number)) throw new Error('an answer is wrong')
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now()
  await work()
  return (performance.now() - since) / 1000
}
