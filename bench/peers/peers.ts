import { cpus } from 'node:os'
import { DataSet, FIRST_VERSION } from '../../clients/load-test/data-set.js'
import { KeySpace } from '../../clients/load-test/key-space.js'
import { PayloadSpace } from '../../clients/load-test/payload-space.js'
import type { PayloadRows } from '../../clients/load-test/target.js'
import type { AdapterChoice } from '../../gpu/device/adapter.js'
import type { PayloadKind } from '../../protocol/types.js'
import { BatchSource, batches } from './batches.js'
import { LineUp } from './line-up.js'
import { checkReads, depthOf, timeInserts, timeReads, timeScans } from './measure.js'
import type { Batch, MissingPeer, Peer } from './peer.js'
import { type Spread, spread } from './spread.js'

export interface PeersSetting {
  readonly adapter: AdapterChoice
  /** A run of minutes: fewer rounds and cases. */
  readonly quick: boolean
  /** Millions of keys. */
  readonly millions: readonly number[]
  /** Program of the Redis server. */
  readonly redisServer: string
}

/** What was asked of all peers. */
export interface Contest {
  readonly operation: 'lookup' | 'scan' | 'insert'
  readonly payload: PayloadKind
  /** Of the data set. */
  readonly keys: number
  readonly distribution: 'uniform' | 'zipfian' | undefined
  readonly batch: number
  readonly depth: number
}

/** What came out. */
export interface Outcome extends Contest {
  /** Keys (or scans) a second by peer. */
  readonly rates: Readonly<Record<string, Spread>>
  /** How many times as fast as each peer this server was, round by round. */
  readonly ratios: Readonly<Record<string, Spread>>
}

export interface PeersResult {
  readonly machine: { readonly processor: string; readonly cores: number; readonly node: string }
  readonly rounds: number
  readonly peers: readonly Pick<Peer, 'name' | 'note'>[]
  readonly missing: readonly MissingPeer[]
  readonly outcomes: readonly Outcome[]
}

/** Name of the peer that all others are compared with. */
export const SUBJECT = 'warpdex'

const BATCHES = [1, 100, 1000, 10_000, 65_536]
const INSERT_BATCHES = [10_000, 65_536]
const PAYLOADS: readonly PayloadKind[] = ['fixed(16)', 'u64']
const SCAN_LIMIT = 100
/** Scans of a call. */
const SCANS = 100
/** Scans and inserts are measured on data sets of up to this size. */
const SMALL = 1_000_000
const SEED = 20

interface Pace {
  readonly rounds: number
  /** Milliseconds of each measurement. */
  readonly milliseconds: number
  /** Of the call that warms up. */
  readonly warmUp: number
}

const FULL: Pace = { rounds: 5, milliseconds: 300, warmUp: 200 }
const QUICK: Pace = { rounds: 3, milliseconds: 250, warmUp: 150 }

/**
 * The same work on this server and its peers, on one machine and in one run: lookups, short scans and inserts. Peers take turns in
 * rounds, so that what else goes on in the machine meets all of them; all get the same keys, which are drawn before each
 * measurement and used once, and each hands its payloads to its caller.
 */
export async function benchPeers(
  setting: PeersSetting,
  onOutcome: (outcome: Outcome) => void,
): Promise<PeersResult> {
  const pace = setting.quick ? QUICK : FULL
  const outcomes: Outcome[] = []
  const known = new Map<string, Pick<Peer, 'name' | 'note'>>()
  const missing = new Map<string, MissingPeer>()
  for (const payload of PAYLOADS) {
    for (const millions of setting.millions) {
      const records = Math.round(millions * 1e6)
      const data = new DataSet(new KeySpace('u64', SEED), new PayloadSpace(payload, 0))
      const scans = records <= SMALL && payload === PAYLOADS[0]
      const lineUp = await LineUp.open(setting.adapter, data, records, scans, setting.redisServer)
      for (const { name, note } of lineUp.peers) known.set(name, { name, note })
      for (const peer of lineUp.missing) missing.set(peer.name, peer)
      for (const contest of contests(payload, records, setting.quick)) {
        const outcome = await hold(contest, lineUp.peers, data, pace)
        outcomes.push(outcome)
        onOutcome(outcome)
      }
      await lineUp.close()
    }
  }
  const processors = cpus()
  return {
    machine: { processor: processors[0]?.model ?? '', cores: processors.length, node: process.version },
    rounds: pace.rounds,
    peers: [...known.values()],
    missing: [...missing.values()],
    outcomes,
  }
}

/** Inserts come last, since they change the data set. */
function contests(payload: PayloadKind, keys: number, quick: boolean): Contest[] {
  const lookups = BATCHES.flatMap((batch) =>
    (['uniform', 'zipfian'] as const)
      .filter((distribution) => !quick || distribution === 'uniform' || batch === 10_000)
      .map((distribution) => ({ operation: 'lookup' as const, payload, keys, distribution, batch })),
  )
  const scans =
    keys <= SMALL && payload === PAYLOADS[0]
      ? [{ operation: 'scan' as const, payload, keys, distribution: 'uniform' as const, batch: SCANS }]
      : []
  const inserts =
    keys <= SMALL
      ? INSERT_BATCHES.map((batch) => ({
          operation: 'insert' as const,
          payload,
          keys,
          distribution: undefined,
          batch,
        }))
      : []
  return [...lookups, ...scans, ...inserts].map((contest) => ({ ...contest, depth: depthOf(contest.batch) }))
}

/** Keys of the calls that warm up, and calls that there are at least. */
const WARM_UP_KEYS = 1 << 20
const LEAST_CALLS = 32
/** Keys are drawn for a rate that is higher by this than the best so far. */
const ROOM = 1.3
/** Calls whose answers are all compared. */
const CHECKED_CALLS = 3

/** Lets the peers take turns. */
async function hold(
  contest: Contest,
  peers: readonly Peer[],
  data: DataSet,
  { rounds, milliseconds, warmUp }: Pace,
): Promise<Outcome> {
  const source = new BatchSource(data, contest.keys, SEED)
  const { batch } = contest
  const taking = peers.filter((peer) => takesPart(peer, contest))
  const rates = new Map<string, number[]>(taking.map(({ name }) => [name, []]))
  const first = preparedWork(contest, source, data, 0, Math.max(WARM_UP_KEYS, LEAST_CALLS * batch))
  let best = 0
  for (const peer of taking) {
    if (contest.operation === 'lookup')
      await checkReads(peer, source.draw('uniform', batch, CHECKED_CALLS * batch), data)
    best = Math.max(best, await first(peer, warmUp))
  }
  for (let round = 0; round < rounds; round++) {
    const keys = Math.max((ROOM * best * milliseconds) / 1000, LEAST_CALLS * batch)
    const work = preparedWork(contest, source, data, round + 1, keys)
    for (let turn = 0; turn < taking.length; turn++) {
      // Each round begins with another one.
      const peer = taking[(turn + round) % taking.length]!
      const rate = await work(peer, milliseconds)
      rates.get(peer.name)!.push(rate)
      best = Math.max(best, rate)
    }
  }
  const own = rates.get(SUBJECT)!
  const named = (of: (values: readonly number[]) => Spread) =>
    Object.fromEntries([...rates].map(([name, values]) => [name, of(values)]))
  return {
    ...contest,
    rates: named(spread),
    ratios: named((values) => spread(values.map((value, round) => own[round]! / value))),
  }
}

function takesPart(peer: Peer, { operation, batch }: Contest): boolean {
  if (operation === 'insert') return peer.insert !== undefined
  if (operation === 'scan') return peer.scan !== undefined
  return peer.batches === undefined || peer.batches.includes(batch)
}

/** Keys that are inserted in a round at most. */
const INSERTED = 500_000

/** Draws a round's keys, about as many as are wanted. @returns what measures a peer with them, in items a second */
function preparedWork(
  { operation, keys, distribution, batch }: Contest,
  source: BatchSource,
  data: DataSet,
  round: number,
  wanted: number,
): (peer: Peer, milliseconds: number) => Promise<number> {
  if (operation === 'insert') {
    const rows = newRows(data, keys + newRowsBefore(batch, round), batch)
    return (peer, milliseconds) => timeInserts((...each) => peer.insert!(...each), rows, milliseconds)
  }
  const drawn = source.draw(distribution ?? 'uniform', batch, wanted)
  if (operation === 'lookup') return (peer, milliseconds) => timeReads(peer, drawn, milliseconds)
  return (peer, milliseconds) => timeScans((...each) => peer.scan!(...each), drawn, SCAN_LIMIT, milliseconds)
}

/** The number of items that contests before this one and their rounds may have inserted. */
function newRowsBefore(batch: number, round: number): number {
  const contestsBefore = INSERT_BATCHES.indexOf(batch)
  return (contestsBefore * (FULL.rounds + 1) + round) * (INSERTED + Math.max(...INSERT_BATCHES))
}

function newRows(data: DataSet, first: number, batch: number): (readonly [Batch, PayloadRows])[] {
  const calls = Math.ceil(INSERTED / batch)
  const items = Uint32Array.from({ length: calls * batch }, (_, i) => first + i)
  return batches(data, items, batch).map((keys) => [
    keys,
    data.payloadRows(keys, FIRST_VERSION, data.payloads.room(keys.count)),
  ])
}
