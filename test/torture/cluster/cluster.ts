import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../../random.js'
import { Load } from './load.js'
import { Nodes } from './nodes.js'
import { WHOLE } from './tcp-proxy.js'

const NODES = 3
/** How long it takes at most until writes are acknowledged again after all is mended. */
const PATIENCE_MS = 60_000

/** Something that goes wrong for a while. */
interface Trouble {
  /** Milliseconds for which it lasts. */
  readonly longest: number
  begin(nodes: Nodes, i: number): void | Promise<void>
  end(nodes: Nodes, i: number): void | Promise<void>
}

const BOTH = { toServer: true, toClient: true }

function cutOff(cut: Parameters<Nodes['cut']>[1]): Trouble {
  return { longest: 8000, begin: (nodes, i) => nodes.cut(i, cut), end: (nodes, i) => nodes.cut(i, {}) }
}

/** By name; those of a node and those of a NATS server. Leases last for 3 seconds. */
const TROUBLES: Readonly<Record<string, Trouble>> = {
  'node killed': { longest: 5000, begin: (nodes, i) => nodes.kill(i), end: (nodes, i) => nodes.run(i) },
  'node paused': { longest: 8000, begin: (nodes, i) => nodes.pause(i), end: (nodes, i) => nodes.resume(i) },
  'node emptied': {
    longest: 3000,
    begin: async (nodes, i) => {
      await nodes.kill(i)
      await nodes.empty(i)
    },
    end: (nodes, i) => nodes.run(i),
  },
  'node cut off': cutOff({ nats: BOTH, clients: BOTH }),
  'node cut off from NATS': cutOff({ nats: BOTH }),
  'node cannot send to NATS': cutOff({ nats: { ...WHOLE, toServer: true } }),
  'node cannot hear NATS': cutOff({ nats: { ...WHOLE, toClient: true } }),
  'node cannot answer clients': cutOff({ clients: { ...WHOLE, toClient: true } }),
  'NATS server killed': {
    longest: 5000,
    begin: ({ nats }, i) => nats.kill(i),
    end: ({ nats }, i) => nats.run(i),
  },
  'NATS server paused': {
    longest: 8000,
    begin: ({ nats }, i) => nats.pause(i),
    end: ({ nats }, i) => nats.resume(i),
  },
}

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
  readonly onProgress: (line: string) => void
}

/**
 * A replica set of three nodes in processes of their own, of which one, or a NATS server, fails time and again while clients work. In the end all nodes
 * have the same, nothing is lost that was acknowledged, nothing is there twice, and what clients saw is linearizable.
 * @returns what was done, and for how long nothing was answered
 * @throws Error that says what is wrong
 */
export async function tortureCluster(options: TortureOptions): Promise<string> {
  const { directory, random, rounds, natsServers = 3, onProgress } = options
  const names = options.troubles ?? Object.keys(TROUBLES)
  const outages = new Map<string, Outages>()
  const nodes = await Nodes.start(directory, NODES, natsServers)
  let load: Load | undefined
  try {
    load = await Load.start(nodes.urls, random)
    for (let round = 0; round < rounds; round++) {
      const name = random.pick(names)
      const start = performance.now()
      await oneRound(nodes, load, name, random)
      const outage = noteOutage(outages, name, load, start)
      onProgress(`${round + 1}: ${name}, ${outage}`)
    }
    await load.stop()
    await load.check()
    const errors = [...load.errors].map(([code, times]) => `${times} ${code}`).join(', ')
    return [
      `${rounds} rounds, ${load.acknowledged.length} writes acknowledged, unknown or refused: ${errors || 'none'}`,
      ...[...outages].map(([name, each]) => `${name}: ${summary(each)}`),
    ].join('\n')
  } finally {
    await load?.close()
    await nodes.close()
  }
}

async function oneRound(nodes: Nodes, load: Load, name: string, random: Random): Promise<void> {
  const { longest, begin, end } = TROUBLES[name]!
  load.nextKeys()
  await pause(random.below(1000))
  const owner = await load.owner()
  const isOfNats = name.startsWith('NATS')
  const count = isOfNats ? nodes.nats.clientPorts.length : NODES
  // Every other time it is the owner's turn.
  const i = !isOfNats && owner >= 0 && random.chance(0.5) ? owner : random.below(count)
  await begin(nodes, i)
  await pause(longest / 4 + random.below((longest * 3) / 4))
  await end(nodes, i)
  const { length } = load.acknowledged
  for (const until = performance.now() + PATIENCE_MS; load.acknowledged.length === length; await pause(10)) {
    if (performance.now() > until) throw new Error(`after "${name}" of ${i} nothing is acknowledged any more`)
  }
  const { ended } = nodes
  if (ended.length > 0)
    throw new Error(`after "${name}" of ${i}, node ${ended.join(' and ')} has ended by itself`)
}

/** @returns in words */
function noteOutage(outages: Map<string, Outages>, name: string, load: Load, start: number): string {
  const { writes, reads } = outages.get(name) ?? { writes: [], reads: [] }
  outages.set(name, { writes, reads })
  const write = longestGap(load.acknowledged, start)
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
