import { cpus } from 'node:os'
import yargs from 'yargs'
import { hideBin } from 'yargs/helpers'
import type { AdapterChoice } from '../gpu/device/adapter.js'
import { Device } from '../gpu/device/device.js'
import { benchBulk } from './bulk.js'
import { benchClusterLog } from './cluster-log.js'
import { benchClusterScale } from './cluster-scale.js'
import { benchColdPayloads } from './cold-payloads.js'
import { benchDevice } from './device.js'
import { benchDoor } from './door/door.js'
import { benchFairness } from './fairness/fairness.js'
import { benchFiles } from './files.js'
import { benchMerge } from './merge.js'
import { benchOrder } from './order.js'
import { benchRelational } from './papers/diamos/relational.js'
import { benchJoins } from './papers/he/joins.js'
import type { PartChoice } from './papers/parts.js'
import { benchSelect } from './papers/sitaridi/select.js'
import { benchSpeculation } from './papers/volk/speculation.js'
import { benchPath } from './path/path.js'
import { benchPeers } from './peers/peers.js'
import { benchShortScans } from './peers/short-scans.js'
import { contestName, printPeers } from './peers/tables.js'
import { benchPrimitives } from './primitives.js'
import { benchProfile } from './profile.js'
import { benchPython } from './python-clients.js'
import { benchRecovery } from './recovery.js'
import { folderName, printTables, type Row, writeJson, writeReport } from './report.js'
import { benchServe } from './serve.js'
import { benchShards } from './shards.js'
import { benchSoak } from './soak.js'
import { benchStrings } from './strings.js'
import { benchVariableKeys } from './variable-keys.js'

interface Setting {
  readonly adapter: AdapterChoice
  readonly device: Device
  /** Logarithm of the largest index, or a smaller one on a software adapter. */
  readonly largest: (onSoftware: number) => number
  readonly seconds: number
  readonly minutes: number
  /** Millions of u32 and of u64 keys. */
  readonly millions: readonly number[] | undefined
  readonly quick: boolean
  readonly list: boolean
  readonly against: string | undefined
  /** Of a paper's evaluation; all unless given. */
  readonly parts: PartChoice | undefined
  /** Program of the Redis server. */
  readonly redisServer: string
  /** Where the figures are kept. */
  readonly path: string | undefined
}

/** Suites return their rows, unless they print and keep them themselves. */
const SUITES: Record<string, (setting: Setting) => Promise<Row[] | undefined>> = {
  device: ({ adapter, largest }) => benchDevice(adapter, sizes(largest(20))),
  primitives: async ({ adapter, device }) => [
    ...(await benchPrimitives(adapter, device.facts.software)),
    ...(await benchVariableKeys(adapter)),
  ],
  relational: async ({ adapter, device, quick, parts, path }) => {
    await benchRelational(device.facts, { adapter, quick, parts, path })
    return undefined
  },
  profile: ({ device, largest }) => benchProfile(device, largest(18)),
  strings: ({ device }) =>
    device.facts.software
      ? benchStrings(device, [10_000], 2 ** 14)
      : benchStrings(device, [100_000, 2 ** 20], 2 ** 20),
  order: ({ device, largest }) =>
    benchOrder(
      device,
      device.facts.software ? [largest(14)] : [Math.min(20, largest(14)), Math.min(24, largest(14))],
    ),
  joins: async ({ device, largest, quick, parts, path }) => {
    const logarithm = Math.min(24, largest(14)) - (quick ? 4 : 0)
    await benchJoins(device, { logarithm, quick, parts, path })
    return undefined
  },
  select: async ({ device, quick, parts, path }) => {
    await benchSelect(device, { quick, parts, path })
    return undefined
  },
  'cold-payloads': ({ quick }) => benchColdPayloads(quick ? 1 : 3),
  merge: ({ device, largest }) => benchMerge(device, largest(18)),
  serve: ({ adapter, largest, seconds }) => benchServe({ adapter, logarithm: largest(22), seconds }),
  bulk: ({ adapter, device, largest }) =>
    benchBulk({ adapter, logarithm: largest(20), withoutDevice: device.facts.software ? 24 : largest(26) }),
  files: ({ adapter, device, quick }) => {
    device.destroy()
    return benchFiles(adapter, quick ? 500_000 : device.facts.software ? 4_000_000 : 20_000_000)
  },
  shards: ({ adapter, device, millions }) => {
    const [u32, u64] = millions ?? (device.facts.software ? [2, 1] : [1000, 500])
    device.destroy()
    return benchShards({ adapter, millions: { u32: u32 ?? 0, u64: u64 ?? 0 } })
  },
  speculation: async ({ device, quick, parts, path }) => {
    await benchSpeculation(device, { quick, parts, path })
    return undefined
  },
  peers: async ({ adapter, device, millions, quick, redisServer, path }) => {
    const { name } = device.facts
    device.destroy()
    const result = await benchPeers(
      { adapter, quick, millions: millions ?? (quick ? [1] : [1, 10]), redisServer },
      (outcome) => {
        const rates = Object.entries(outcome.rates).map(
          ([peer, { median }]) => `${peer} ${median.toPrecision(3)}`,
        )
        console.log(`${contestName(outcome)}: ${rates.join(', ')}`)
      },
    )
    printPeers(`peers on ${name}`, result)
    if (path !== undefined) writeJson(path, { suite: 'peers', adapter: name, ...result })
    return undefined
  },
  'short-scans': ({ adapter, device, seconds, redisServer }) => {
    device.destroy()
    return benchShortScans({ adapter, milliseconds: 1000 * seconds, redisServer })
  },
  path: ({ adapter, device, list }) => {
    device.destroy()
    return benchPath(adapter, list)
  },
  door: async ({ adapter, device, largest, quick, against, path }) => {
    const { name } = device.facts
    device.destroy()
    const rows = await benchDoor({ adapter, logarithm: largest(20), quick, against })
    printTables(`door on ${name}, Node ${process.version}`, rows)
    if (path !== undefined) {
      writeJson(path, { suite: 'door', adapter: name, node: process.version, cores: cpus().length, rows })
    }
    return undefined
  },
  python: ({ adapter, device, largest, seconds }) => {
    device.destroy()
    return benchPython(adapter, largest(20), seconds)
  },
  'cluster-log': ({ adapter, device, seconds }) => {
    device.destroy()
    return benchClusterLog(adapter, seconds)
  },
  'cluster-scale': ({ adapter, device, seconds, largest, millions: [keys] = [] }) => {
    device.destroy()
    return benchClusterScale({ adapter, keys: keys === undefined ? 2 ** largest(18) : keys * 1e6, seconds })
  },
  recovery: ({ adapter, device, largest, against }) => {
    device.destroy()
    return benchRecovery({ adapter, logarithm: largest(20), against })
  },
  fairness: ({ adapter, device, quick }) => {
    const kind = device.facts.software ? 'software' : 'hardware'
    device.destroy()
    return benchFairness(adapter, kind, quick)
  },
  soak: ({ adapter, minutes }) => benchSoak(adapter, minutes),
  papers: async (setting) => {
    for (const paper of PAPERS)
      await SUITES[paper]!({ ...setting, parts: 'missing', path: defaultPath(paper) })
    return undefined
  },
}

/** Suites that repeat a paper's evaluation, part by part. */
const PAPERS = ['joins', 'select', 'relational', 'speculation']

/** Logarithm of the largest index that is measured by default. */
const LARGEST = 26

/** Logarithms of the sizes to measure: 16, 18, … and the largest. */
function sizes(largest: number): number[] {
  const even = [16, 18, 20, 22, 24].filter((logarithm) => logarithm < largest)
  return [...even, largest]
}

const options = await yargs(hideBin(process.argv))
  .usage('npm run bench -- <suite> [options]')
  .command(
    '$0 <suite>',
    'Runs one suite of measurements, prints its table and keeps its figures',
    (command) => command.positional('suite', { choices: Object.keys(SUITES), demandOption: true }),
  )
  .option('adapter', { choices: ['auto', 'hardware', 'software'] as const, default: 'auto' as const })
  .option('json', {
    type: 'string',
    describe: 'where to write the figures [bench/results/<adapter>/<suite>.json]',
  })
  .option('max', {
    type: 'number',
    describe:
      'logarithm of the largest index [26; 20 on the software adapter, merge 18, order and joins 24 and 14, serve 22]',
  })
  .option('seconds', {
    type: 'number',
    default: 2,
    describe: 'serve, short-scans, python, cluster-log, cluster-scale: length of each measurement',
  })
  .option('quick', {
    type: 'boolean',
    default: false,
    describe:
      "speculation, joins, relational, select: a run of seconds; door, fairness, peers: one of minutes; cold-payloads: a data file of 1 GiB, not 3, in the system's temporary folder; kept only with --json",
  })
  .option('against', {
    type: 'string',
    describe:
      'door, recovery: folder of the compiled modules (dist) of another build, to be measured in turns with this one',
  })
  .option('list', {
    type: 'boolean',
    default: false,
    describe: 'path: print the files and functions too, in the order of their first calls',
  })
  .option('parts', {
    type: 'string',
    array: true,
    describe:
      "speculation, joins, relational, select: which of the paper's figures and tables [all]; kept rows of others stay. papers: those of all four of which none are kept",
  })
  .option('millions', {
    type: 'number',
    array: true,
    describe:
      'shards: millions of u32 and of u64 keys [1000 500; 2 1 on the software adapter]; peers: of keys [1 10; 1 with --quick]; cluster-scale: of keys',
  })
  .option('redis-server', {
    type: 'string',
    default: 'redis-server',
    describe: 'peers, short-scans: program of the Redis server',
  })
  .option('minutes', { type: 'number', default: 10, describe: 'soak: length' })
  .strict()
  .parseAsync()

const suite = String(options.suite)
const { adapter, max, seconds, minutes, millions, quick, list, against, parts, redisServer } = options
const device = await Device.open(adapter)
const { name, software } = device.facts
const largest = (onSoftware: number) => max ?? (software ? onSoftware : LARGEST)
const path = options.json ?? defaultPath(suite)
const rows = await SUITES[suite]({
  adapter,
  device,
  largest,
  seconds,
  minutes,
  millions,
  quick,
  list,
  against,
  parts,
  redisServer,
  path,
})
if (rows !== undefined) {
  printTables(`${suite} on ${name}`, rows)
  if (path !== undefined) writeReport(path, { suite, adapter: name, rows })
}
device.destroy()

function defaultPath(suite: string): string | undefined {
  if (quick) return undefined
  const adapter = folderName(device.facts.name)
  return suite === 'speculation'
    ? `bench/results/speculation/${adapter}/figures.json`
    : `bench/results/${adapter}/${suite}.json`
}
