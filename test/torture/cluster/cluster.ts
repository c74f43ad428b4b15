import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../../random.js'
import { Load } from './load.js'
import { Nodes } from './nodes.js'
import { TROUBLES } from './troubles.js'

/** How long it takes at most until writes are acknowledged again after all is mended. */
const PATIENCE_MS = 60_000

/** Milliseconds without an answer, the longest of each time that something went wrong. */
interface Outages {
  readonly writes: number[]
  readonly reads: number[]
}

interface TortureOptions {
  readonly directory: string
  readonly random: Random
  readonly rounds: number
  /** Names of what goes wrong; all unless given. */
  readonly troubles?: readonly string[]
  readonly natsServers?: 1 | 3
  readonly replicaSets?: number | undefined
  readonly onProgress: (line: string) => void
}

/**
 * A cluster of nodes in processes of their own, of which one, or a NATS server, fails time and again while clients work. In the end all nodes of a replica set
 * have the same, nothing is lost that was acknowledged, nothing is there twice, and what clients saw is linearizable.
 * @returns what was done, and for how long nothing was answered
 * @throws Error that says what is wrong
 */
export async function tortureCluster(options: TortureOptions): Promise<string> {
  const { directory, random, rounds, natsServers = 3, replicaSets = 1, onProgress } = options
  const wanted = options.troubles ?? Object.keys(TROUBLES)
  const disks = wanted.some((name) => TROUBLES[name]!.isOfDisks)
  const outages = new Map<string, Outages>()
  const nodes = await Nodes.start({ directory, natsServers, replicaSets, disks })
  const names = wanted.filter((name) => nodes.haveDisks || !TROUBLES[name]!.isOfDisks)
  if (names.length < wanted.length)
    onProgress('disks are not filled: mounting small ones takes root, as in unshare -rm')
  let load: Load | undefined
  try {
    load = await Load.start(nodes.addresses, random)
    for (let round = 0; round < rounds; round++) {
      const name = random.pick(names)
      const start = performance.now()
      const what = await oneRound(nodes, load, name, random)
      const outage = noteOutage(outages, what, load, start)
      onProgress(`${round + 1}: ${what}, ${outage}`)
    }
    await load.stop()
    await load.check()
    const errors = [...load.errors].map(([code, times]) => `${times} ${code}`).join(', ')
    return [
      `${rounds} rounds, ${load.acknowledged.flat().length} writes acknowledged, unknown or refused: ${errors || 'none'}`,
      ...[...outages].map(([name, each]) => `${name}: ${summary(each)}`),
    ].join('\n')
  } finally {
    await load?.close()
    await nodes.close()
  }
}

/** @returns what went wrong, as the trouble is called, but of an owner where it was one */
async function oneRound(nodes: Nodes, load: Load, name: string, random: Random): Promise<string> {
  const { longest, of, begin, end } = TROUBLES[name]!
  load.nextKeys()
  await pause(random.below(1000))
  const owner = await load.owner()
  const count = of === 'node' ? nodes.addresses.length : nodes.nats.clientPorts.length
  // Every other time it is the owner's turn.
  const i = of === 'node' && owner >= 0 && random.chance(0.5) ? owner : random.below(count)
  await begin(nodes, i)
  if (nodes.nats.clientPorts.length > 1) load.grow()
  await pause(longest / 4 + random.below((longest * 3) / 4))
  await end(nodes, i)
  const before = load.acknowledged.map(({ length }) => length)
  const isQuiet = () => load.acknowledged.some(({ length }, set) => length === before[set])
  for (const until = performance.now() + PATIENCE_MS; isQuiet(); await pause(10)) {
    if (performance.now() > until)
      throw new Error(`after "${name}" of ${i} nothing is acknowledged any more\n${await load.state()}`)
  }
  const { ended } = nodes
  if (ended.length > 0)
    throw new Error(`after "${name}" of ${i}, node ${ended.join(' and ')} has ended by itself`)
  return of === 'node' && i === owner ? name.replace('node', 'owner') : name
}

/** @returns in words */
function noteOutage(outages: Map<string, Outages>, name: string, load: Load, start: number): string {
  const { writes, reads } = outages.get(name) ?? { writes: [], reads: [] }
  outages.set(name, { writes, reads })
  const write = Math.max(...load.acknowledged.map((moments) => longestGap(moments, start)))
  const read = longestGap(load.followed, start)
  writes.push(write)
  reads.push(read)
  return `no write for ${seconds(write)}, no read of a follower for ${seconds(read)}`
}

/** Between moments since a start. */
function longestGap(moments: readonly number[], start: number): number {
  const since = [start, ...moments.filter((moment) => moment > start)]
  return since.reduce((longest, moment, i) => Math.max(longest, moment - since[Math.max(0, i - 1)]!), 0)
}

function summary({ writes, reads }: Outages): string {
  return `${writes.length} times, no write for ${spread(writes)}, no read of a follower for ${spread(reads)}`
}

function spread(milliseconds: readonly number[]): string {
  const ascending = [...milliseconds].sort((one, other) => one - other)
  const at = (share: number) =>
    seconds(ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))]!)
  return `${at(0.5)} (median), ${at(0.99)} (p99), ${at(1)} (longest)`
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`
}
