import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { nvidiaGpus, seeingOnly } from '../clients/cli/cluster/gpus.js'
import { type LocalNats, requireNatsServer } from '../clients/cli/cluster/local-nats.js'
import { connect } from '../clients/sdk/index.js'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import { LoadProcesses, type LoadResult, type LoadTask, pinnedTo } from './door/load.js'
import { INDEX } from './door/targets.js'
import { numberedPayloads, scatteredKeys } from './keys.js'
import { type Ends, startNats } from './nats-servers.js'
import { median, type Row } from './report.js'
import { ServerProcess } from './server-process.js'

const NODES = 3
const ROUNDS = 3
const BATCH_ROWS = 1 << 20
const WARM_UP_MS = 1500
const THIS_BUILD = new URL('../', import.meta.url).href

/** How nodes are asked. */
interface Load {
  readonly title: string
  readonly batch: number
  readonly depth: number
  readonly single?: boolean
  readonly puts?: boolean
}

const LOADS: readonly Load[] = [
  { title: 'single gets', batch: 1, depth: 256, single: true },
  { title: 'gets of 10,000', batch: 10_000, depth: 8 },
  { title: 'gets of 65,536', batch: 65_536, depth: 4 },
  { title: 'puts of 8,192', batch: 8192, depth: 4, puts: true },
]
/** What one client is asked to do that is not bound to cores. */
const ONE_CLIENT: Load = { title: 'gets of 262,144', batch: 262_144, depth: 4 }

interface Cluster {
  readonly name: string
  readonly url: string
  readonly nodes: readonly ServerProcess[]
  /** Client processes, each on the cores of a node. */
  readonly clients: LoadProcesses
}

/** Makes requests of a cluster. */
type Run = (task: LoadTask, cluster: Cluster) => Promise<LoadResult>

interface Place {
  /** As `0-4`; undefined for all of a machine that has too few. */
  readonly cores: string | undefined
  /** What the command of a node begins with. */
  readonly prefix: readonly string[]
}

export interface ClusterScaleSetting {
  readonly adapter: AdapterChoice
  /** Of the index. */
  readonly keys: number
  /** Of each measurement. */
  readonly seconds: number
}

/**
 * What further nodes bring. On one GPU three nodes, each with its clients on a third of the cores, against one node so placed. Where there are several
 * GPUs, a node with each, against one of them. Every node has a replica set of its own, and half as many client processes as cores, which ask for its
 * keys or for random ones of all.
 */
export async function benchClusterScale({ adapter, keys, seconds }: ClusterScaleSetting): Promise<Row[]> {
  requireNatsServer()
  const directory = mkdtempSync(join(tmpdir(), 'warpdex-scale-'))
  const ends: Ends = [() => rmSync(directory, { recursive: true, force: true })]
  try {
    const gpus = nvidiaGpus()
    const places = placesOf(gpus)
    const perNode = Math.max(1, Math.floor(availableParallelism() / places.length / 2))
    const nats = await startNats(join(directory, 'nats'), 1, ends)
    const clusters: Cluster[] = []
    for (const own of [places.slice(0, 1), places]) {
      const cluster = await startCluster(directory, nats, adapter, own)
      ends.push(() => Promise.all([cluster.clients.stop(), ...cluster.nodes.map((node) => node.kill())]))
      await load(cluster, keys)
      clusters.push(cluster)
    }
    const free = new LoadProcesses()
    ends.push(() => free.stop())
    const setting = { keys, seconds }
    const rows: Row[] = []
    for (const one of LOADS) {
      for (const own of [true, false]) {
        const run: Run = (task, { clients, nodes }) =>
          clients.run(own ? ownPart(task, nodes.length) : task, perNode * nodes.length)
        const title = `${one.title}, ${own ? "of a node's own keys" : 'of all keys'}`
        rows.push(await compare(clusters, { ...one, title }, setting, run))
      }
    }
    const title = `${ONE_CLIENT.title}, of all keys, one client on all cores`
    rows.push(await compare(clusters, { ...ONE_CLIENT, title }, setting, (task) => free.run(task, 1)))
    return rows
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

/** Each process asks the node that shares its cores. */
function ownPart(task: LoadTask, sets: number): (process: number) => LoadTask {
  return (process) => {
    const { target } = task
    return target.kind === 'server'
      ? { ...task, target: { ...target, part: { set: process % sets, sets } } }
      : task
  }
}

/** A share of the cores for each node, and a GPU where there are several. */
function placesOf(gpus: readonly string[]): readonly Place[] {
  const count = gpus.length > 1 ? gpus.length : NODES
  const each = Math.floor(availableParallelism() / count)
  return Array.from({ length: count }, (_, i) => {
    const cores = each === 0 ? undefined : `${i * each}-${(i + 1) * each - 1}`
    const seen = gpus.length > 1 ? seeingOnly(gpus[i]!, gpus) : []
    return { cores, prefix: [...pinnedTo(cores), ...seen] }
  })
}

async function startCluster(
  directory: string,
  { addresses }: LocalNats,
  adapter: AdapterChoice,
  places: readonly Place[],
): Promise<Cluster> {
  const sets = places.length
  const name = sets === 1 ? 'one node' : `${sets} nodes`
  const folder = join(directory, `nodes-${sets}`)
  mkdirSync(folder)
  const starting = places.map(({ prefix }, set) => {
    const settings = {
      cluster: `scale-${sets}`,
      'replica-sets': sets,
      'replica-set': set,
      nats: addresses,
      adapter,
    }
    const flags = Object.entries(settings).flatMap(([setting, value]) => [`--${setting}`, String(value)])
    return ServerProcess.start(join(folder, String(set)), [...flags, '--nats-unsafe'], undefined, prefix)
  })
  const nodes = await Promise.all(starting)
  const clients = new LoadProcesses((process) => places[process % sets]!.cores)
  return { name, url: nodes[0]!.url, nodes, clients }
}

/** Fills an index whose keys are on all nodes alike. */
async function load({ name, url, nodes }: Cluster, keys: number): Promise<void> {
  const client = await connect(url)
  const splitAt = Uint32Array.from({ length: nodes.length - 1 }, (_, i) =>
    Math.ceil(((i + 1) * 2 ** 32) / nodes.length),
  )
  await client.createIndex({ name: INDEX, keyType: 'u32', payloadKind: 'u32', unique: false }, { splitAt })
  const { seconds } = await client.index<'u32', 'u32'>(INDEX).bulkLoad(batches(keys))
  console.log(`${name}: loaded ${keys} keys, ${(keys / seconds / 1e6).toFixed(1)} M keys/s`)
  await client.close()
}

function* batches(keys: number) {
  for (let first = 0; first < keys; first += BATCH_ROWS) {
    const count = Math.min(BATCH_ROWS, keys - first)
    yield {
      keys: new Uint32Array(scatteredKeys(1, first, count).buffer),
      payloads: new Uint32Array(numberedPayloads(1, first, count).buffer),
    }
  }
}

async function compare(
  clusters: readonly Cluster[],
  { title, batch, depth, single = false, puts = false }: Load,
  { keys: bound, seconds }: Pick<ClusterScaleSetting, 'keys' | 'seconds'>,
  run: Run,
): Promise<Row> {
  const rates = clusters.map((): number[] => [])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, cluster] of clusters.entries()) {
      const target = { kind: 'server', url: cluster.url, sdk: THIS_BUILD, single, puts } as const
      const times = { warmUpMs: WARM_UP_MS, measuredMs: seconds * 1000 }
      const { keys } = await run({ target, bound, batch, depth, connections: 1, ...times }, cluster)
      rates[i]!.push(keys / 1e6)
    }
  }
  const medians = clusters.map(({ name }, i) => [`${name} M keys/s`, median(rates[i]!)] as const)
  const ratio = median(rates[0]!.map((one, round) => rates[1]![round]! / one))
  const figures = { ...Object.fromEntries(medians), ratio }
  console.log(`${title}: ${JSON.stringify(figures)}`)
  return { name: title, figures }
}
