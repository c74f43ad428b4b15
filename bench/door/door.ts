import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AdapterChoice } from '../../gpu/device/adapter.js'
import { childProgram } from '../child-program.js'
import { numberedPayloads, scatteredKeys } from '../keys.js'
import { type Spread, spread } from '../peers/spread.js'
import type { Row } from '../report.js'
import { ServerProcess } from '../server-process.js'
import { LoadProcesses, type LoadResult } from './load.js'
import { INDEX, pieces, sdkOf, type Target } from './targets.js'

export interface DoorSetting {
  readonly adapter: AdapterChoice
  /** Logarithm of the number of keys. */
  readonly logarithm: number
  readonly quick: boolean
  /** Folder of the compiled modules of another build, whose server is measured beside this one. */
  readonly against: string | undefined
}

/** How a target is asked. */
interface Load {
  readonly name: string
  /** What it shows: the time of a request, or how many keys or requests a second. */
  readonly shows: 'ms' | 'M keys/s' | 'k requests/s'
  readonly batch: number
  readonly depth: number
  readonly connections: number
  readonly processes: number
}

const ALONE = { shows: 'ms', depth: 1, connections: 1, processes: 1 } as const
const BULK = { shows: 'M keys/s', batch: 65_536, depth: 8, connections: 1 } as const

const LOADS: readonly Load[] = [
  { ...ALONE, name: '1 key, one request at a time', batch: 1 },
  { ...ALONE, name: '10,000 keys, one request at a time', batch: 10_000 },
  { ...ALONE, name: '65,536 keys, one request at a time', batch: 65_536 },
  { ...ALONE, name: '262,144 keys, one request at a time', batch: 262_144 },
  { ...BULK, name: '65,536 keys, 8 in flight', processes: 1 },
  { ...BULK, name: '65,536 keys, 8 in flight, 8 clients', processes: 8 },
  {
    name: 'single keys, 64 connections with 16 in flight',
    shows: 'k requests/s',
    batch: 1,
    depth: 16,
    connections: 8,
    processes: 8,
  },
]

interface Pace {
  /** Fresh sets of connections. */
  readonly sets: number
  readonly warmUpMs: number
  readonly measuredMs: number
}

const FULL: Pace = { sets: 10, warmUpMs: 200, measuredMs: 500 }
const QUICK: Pace = { sets: 3, warmUpMs: 100, measuredMs: 200 }

/** What is measured, in processes of its own. */
interface Subject {
  readonly name: 'echo' | 'engine' | 'server' | 'unix' | 'before'
  readonly target: Target
  readonly clients: LoadProcesses
  close(): Promise<void>
}

/** What was measured of a load: of each subject a result for each set. */
export interface DoorRow extends Row {
  readonly sets: Readonly<Record<string, readonly LoadResult[]>>
}

/**
 * What lies between a client and an index: the same requests to a bare `ws` that sends them back, to an engine in the asking process, and to a server with
 * its default settings, over TCP and a Unix socket, with its own client library. All take turns, with fresh connections each time; figures are medians.
 */
export async function benchDoor(setting: DoorSetting): Promise<DoorRow[]> {
  const pace = setting.quick ? QUICK : FULL
  const subjects: Subject[] = []
  try {
    subjects.push(await openEcho(), openEngine(setting.adapter))
    const path = join(tmpdir(), `warpdex-bench-${process.pid}.sock`)
    subjects.push(
      await openServer('server', setting, childProgram('clients/cli/main'), ['--listen', `unix:${path}`]),
    )
    subjects.push(overUnixSocket(subjects.at(-1)!, path))
    if (setting.against !== undefined) {
      subjects.push(await openServer('before', setting, resolve(setting.against, 'clients/cli/main.js')))
    }
    const results = new Map(
      LOADS.map((load) => [load, new Map(subjects.map(({ name }) => [name, [] as LoadResult[]]))]),
    )
    // What comes before the first set is compiled, loaded and warm for all of them.
    for (let set = -1; set < pace.sets; set++) {
      for (const load of LOADS) {
        for (let turn = 0; turn < subjects.length; turn++) {
          const subject = subjects[(turn + set + 1) % subjects.length]!
          const result = await measure(subject, load, 2 ** setting.logarithm, pace)
          if (set >= 0) results.get(load)!.get(subject.name)!.push(result)
        }
      }
      if (set >= 0) console.log(`set ${set + 1} of ${pace.sets}`)
    }
    return [...results].map(([load, sets]) => rowOf(load, sets))
  } finally {
    for (const subject of subjects) await subject.close()
  }
}

function measure(
  { target, clients }: Subject,
  { batch, depth, connections, processes }: Load,
  bound: number,
  { warmUpMs, measuredMs }: Pace,
): Promise<LoadResult> {
  // The engine is asked by one process in any case: it is what answers all clients of a server.
  const [lanes, asking] = target.kind === 'engine' ? [depth * connections * processes, 1] : [depth, processes]
  const each = target.kind === 'engine' ? 1 : connections
  return clients.run({ target, bound, batch, depth: lanes, connections: each, warmUpMs, measuredMs }, asking)
}

async function openEcho(): Promise<Subject> {
  const clients = new LoadProcesses()
  const child = fork(childProgram('bench/door/echo-server'))
  const [url] = await once(child, 'message')
  const close = async () => {
    await clients.stop()
    child.disconnect()
    await once(child, 'exit')
  }
  return { name: 'echo', target: { kind: 'echo', url: String(url) }, clients, close }
}

function openEngine(adapter: AdapterChoice): Subject {
  const clients = new LoadProcesses()
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-bench-'))
  const close = async () => {
    await clients.stop()
    rmSync(directory, { recursive: true, force: true })
  }
  return { name: 'engine', target: { kind: 'engine', directory, adapter }, clients, close }
}

/** @param program the command line of a build */
async function openServer(
  name: 'server' | 'before',
  { adapter, logarithm }: DoorSetting,
  program: string,
  flags: readonly string[] = [],
): Promise<Subject> {
  const sdk = new URL('../../', pathToFileURL(program)).href
  const clients = new LoadProcesses()
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-bench-'))
  const server = await ServerProcess.start(directory, ['--adapter', adapter, ...flags], program)
  const close = async () => {
    await clients.stop()
    await server.kill()
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await loadServer(server.url, sdk, 2 ** logarithm)
  } catch (error) {
    await close()
    throw error
  }
  return { name, target: { kind: 'server', url: server.url, sdk }, clients, close }
}

/** The same server over its other address. */
function overUnixSocket({ target }: Subject, path: string): Subject {
  const clients = new LoadProcesses()
  const { sdk } = target as Extract<Target, { kind: 'server' }>
  const to = { kind: 'server', url: `ws+unix:${path}`, sdk } as const
  return { name: 'unix', target: to, clients, close: () => clients.stop() }
}

/** Loads the keys, and takes the snapshot that would else be taken while something is measured. */
async function loadServer(url: string, sdk: string, bound: number): Promise<void> {
  const { connect } = await sdkOf(sdk)
  const client = await connect(url)
  await client.createIndex({ name: INDEX, keyType: 'u32', payloadKind: 'u32', unique: false })
  const batches = function* () {
    for (const { first, count } of pieces(bound)) {
      const keys = new Uint32Array(scatteredKeys(1, first, count).buffer)
      yield { keys, payloads: new Uint32Array(numberedPayloads(1, first, count).buffer) }
    }
  }
  await client.index<'u32', 'u32'>(INDEX).bulkLoad(batches())
  await client.takeSnapshot(INDEX)
  await client.close()
}

/** The figure that a load is there for. */
function shown({ shows }: Load, { keys, p50 }: LoadResult): number {
  if (shows === 'ms') return p50
  return shows === 'M keys/s' ? keys / 1e6 : keys / 1e3
}

function rowOf(load: Load, sets: ReadonlyMap<string, readonly LoadResult[]>): DoorRow {
  const figures: Record<string, number | string> = {}
  const values = new Map<string, number[]>(
    [...sets].map(([name, all]) => [name, all.map((result) => shown(load, result))]),
  )
  for (const [name, of] of values) figures[`${name} ${load.shows}`] = spread(of).median
  if (load.shows === 'k requests/s') {
    for (const [name, all] of sets) figures[`${name} p99 ms`] = spread(all.map(({ p99 }) => p99)).median
  }
  const server = values.get('server')!
  const ratio = (to: (set: number) => number) => inWords(spread(server.map((value, set) => value / to(set))))
  const [echo, engine, unix, before] = ['echo', 'engine', 'unix', 'before'].map((name) => values.get(name))
  if (load.shows === 'ms') figures['server ÷ (echo + engine)'] = ratio((set) => echo![set]! + engine![set]!)
  figures['unix ÷ server'] = inWords(spread(unix!.map((value, set) => value / server[set]!)))
  if (before !== undefined) figures['server ÷ before'] = ratio((set) => before[set]!)
  return { name: load.name, figures, sets: Object.fromEntries(sets) }
}

function inWords({ median, low, high }: Spread): string {
  return `${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`
}
