import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DataSet, FIRST_VERSION } from '../../clients/load-test/data-set.js'
import type { PayloadRows } from '../../clients/load-test/target.js'
import type { AdapterChoice } from '../../gpu/device/adapter.js'
import { ServerProcess } from '../server-process.js'
import { cut } from './batches.js'
import type { Batch, MissingPeer, Peer } from './peer.js'
import { IoredisPeer, RedisPeer, startRedis } from './redis.js'
import { HashPeer, HashProcess, SingleGetPeer, WarpdexPeer } from './servers.js'
import { LevelPeer, LmdbFastPeer, LmdbPeer } from './stores.js'

/** Keys of a batch of the load. */
const LOAD_BATCH = 10_000
/** Batches of the load that are under way. */
const LOAD_DEPTH = 4
/** Keys for which the hash table has room from the start, for each key of the data set: inserts should not make it grow. */
const HASH_ROOM = 1.5

/** All peers with one data set. */
export class LineUp {
  readonly peers: readonly Peer[]
  readonly missing: readonly MissingPeer[]
  readonly #ends: readonly (() => Promise<void>)[]

  private constructor(
    peers: readonly Peer[],
    missing: readonly MissingPeer[],
    ends: readonly (() => Promise<void>)[],
  ) {
    this.peers = peers
    this.missing = missing
    this.#ends = ends
  }

  /**
   * Starts and loads all that there are. The data set is stored in the order of its keys, which stores of sorted keys like best.
   *
   * @param sorted whether Redis gets the keys as a sorted set, too, for scans
   * @param redisServer the program
   */
  static async open(
    adapter: AdapterChoice,
    data: DataSet,
    records: number,
    sorted: boolean,
    redisServer: string,
  ): Promise<LineUp> {
    const words = sortedKeys(data, records)
    const load = () => rows(data, words, records)
    const { payloads } = data
    const directory = mkdtempSync(join(tmpdir(), 'warpdex-peers-'))
    const server = await ServerProcess.start(directory, ['--adapter', adapter])
    const warpdex = await WarpdexPeer.open(server.url, payloads)
    await warpdex.load(load())
    const hashProcess = await HashProcess.start(payloads.kind, records * HASH_ROOM)
    const hash = await HashPeer.open(hashProcess.url, payloads)
    const lmdb = new LmdbPeer()
    const level = await LevelPeer.open()
    for (const store of [hash, lmdb, ...present(level)])
      await insertAll((...batch) => store.insert(...batch), load())
    const redis = await startRedis(redisServer)
    const onRedis: Peer[] = []
    for (const { port } of present(redis)) {
      const peer = await RedisPeer.open(port, payloads.width)
      await insertAll((...batch) => peer.insert(...batch), load())
      if (sorted) await insertAll((...batch) => peer.insertSorted(...batch), load())
      onRedis.push(peer, new IoredisPeer(port))
    }
    const single = await SingleGetPeer.open(server.url)
    const fast = new LmdbFastPeer(lmdb.store, payloads.width)
    const ends = [
      () => hashProcess.stop(),
      async () => {
        await server.stop()
        rmSync(directory, { recursive: true, force: true })
      },
      ...present(redis).map(({ stop }) => stop),
    ]
    const peers = [warpdex, single, hash, ...onRedis, lmdb, fast, ...present(level)]
    return new LineUp(peers, [redis, level].filter(isMissing), ends)
  }

  async close(): Promise<void> {
    for (const peer of this.peers) await peer.close()
    for (const end of this.#ends) await end()
  }
}

function sortedKeys(data: DataSet, records: number): Uint32Array {
  const words = new Uint32Array(records * data.keys.words)
  data.keys.write(
    Uint32Array.from({ length: records }, (_, i) => i),
    records,
    words,
  )
  new BigUint64Array(words.buffer).sort()
  return words
}

function* rows(data: DataSet, words: Uint32Array, records: number): Generator<readonly [Batch, PayloadRows]> {
  const width = data.keys.words
  for (let first = 0; first < records; first += LOAD_BATCH) {
    const count = Math.min(LOAD_BATCH, records - first)
    // A copy, which is turned into keys with their highest byte first.
    const [batch] = cut(data, words.slice(first * width, (first + count) * width), count, count)
    yield [batch!, data.payloadRows(batch!, FIRST_VERSION, data.payloads.room(count))]
  }
}

async function insertAll(
  insert: (keys: Batch, payloads: PayloadRows) => Promise<void>,
  batches: Generator<readonly [Batch, PayloadRows]>,
): Promise<void> {
  const lane = async () => {
    for (let next = batches.next(); next.done !== true; next = batches.next()) await insert(...next.value)
  }
  await Promise.all(Array.from({ length: LOAD_DEPTH }, lane))
}

function isMissing(peer: object): peer is MissingPeer {
  return 'missing' in peer
}

function present<T extends object>(peer: T | MissingPeer): T[] {
  return isMissing(peer) ? [] : [peer]
}
