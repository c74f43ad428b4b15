import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { type Client, connect, type Index } from '../../clients/sdk/index.js'
import type { AdapterChoice } from '../../gpu/device/adapter.js'
import { median, type Row } from '../report.js'
import { withServer } from '../server-process.js'
import { timed } from './measure.js'
import type { MissingPeer } from './peer.js'
import { startRedis } from './redis.js'

export interface ShortScansSetting {
  readonly adapter: AdapterChoice
  /** Milliseconds of each measurement. */
  readonly milliseconds: number
  /** Program of the Redis server. */
  readonly redisServer: string
}

const KEYS = 300_000
/** Callers, each of which waits for its answer. */
const CALLERS = 8
/** Entries of a scan. */
const LIMIT = 10
const ROUNDS = 5
const LOAD_BATCH = 20_000
/** Calls of each that are compared with what is right. */
const CHECKED = 100

const INDEX = 'words'

/** Answers calls by the number of the text that they ask for. */
interface Answering {
  readonly name: string
  /** What the figures of this one are compared with: rates of that divided by its own. */
  readonly beside: string
  /** @returns the texts that it finds */
  readonly find: (i: number, caller: number) => Promise<readonly string[]>
  readonly isScan: boolean
}

/** What is asked of all: texts, the first characters of each, and what begins with these. */
class Words {
  readonly texts: readonly string[]
  readonly #sorted: readonly string[]

  constructor() {
    const syllables = ['ka', 'lo', 'mi', 'ne', 'pu', 'ra', 'so', 'ti', 'vu', 'we']
    this.texts = Array.from({ length: KEYS }, (_, i) => {
      const scattered = Math.imul(i, 0x9e3779b1) >>> 0
      return `${syllables[scattered % 10]}${syllables[(scattered >>> 7) % 10]}-${scattered.toString(36)}`
    })
    this.#sorted = [...this.texts].sort()
  }

  /** What somebody has typed so far. */
  prefix(i: number): string {
    return this.texts[i % KEYS]!.slice(0, 7)
  }

  /** The first texts that begin so. */
  matches(prefix: string): readonly string[] {
    let low = 0
    let high = KEYS
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#sorted[middle]! < prefix) low = middle + 1
      else high = middle
    }
    return this.#sorted.slice(low, low + LIMIT).filter((text) => text.startsWith(prefix))
  }
}

/**
 * Scans of a few entries by a prefix, as an autocompletion makes them, beside gets of single keys, on this server and in one run with its
 * peers: calls a second, and how many times as long as a single get each takes. All take turns in rounds.
 */
export async function benchShortScans(setting: ShortScansSetting): Promise<Row[]> {
  const words = new Words()
  return withServer(['--adapter', setting.adapter], async ({ url }) => {
    const ends: (() => Promise<unknown>)[] = []
    try {
      const clients = await Promise.all(Array.from({ length: CALLERS }, () => connect(url)))
      ends.push(() => Promise.all(clients.map((client) => client.close())))
      const peers = [await openRedis(words, setting.redisServer, ends), await openLevel(words, ends)]
      const all = [...(await openWarpdex(words, clients)), ...peers.flat()]
      const present = all.filter((one): one is Answering => 'find' in one)
      for (const one of all) if ('missing' in one) console.log(`${one.name} is missing: ${one.missing}`)
      return await measured(present, words, setting.milliseconds)
    } finally {
      for (const end of ends.reverse()) await end()
    }
  })
}

async function measured(all: readonly Answering[], words: Words, milliseconds: number): Promise<Row[]> {
  const rates = new Map<Answering, number[]>(all.map((one) => [one, []]))
  for (const one of all) await check(one, words)
  let calls = 0
  for (let round = 0; round <= ROUNDS; round++) {
    for (const one of all) {
      const first = calls
      const rate = await timed(KEYS, CALLERS, milliseconds, async (i, caller) => {
        calls++
        await one.find(scatter(first + i), caller)
        return 1
      })
      // The first round warms up.
      if (round > 0) rates.get(one)!.push(rate)
    }
  }
  const rateOf = (one: Answering) => median(rates.get(one)!)
  return all.map((one) => {
    const beside = all.find(({ name }) => name === one.beside) ?? one
    return { name: one.name, figures: { 'calls/s': rateOf(one), '× a get': rateOf(beside) / rateOf(one) } }
  })
}

/** Neighbouring calls ask for texts far from each other. */
function scatter(i: number): number {
  return (i * 7919) % KEYS
}

/** So that no side is fast by being wrong. */
async function check(one: Answering, words: Words): Promise<void> {
  for (let i = 0; i < CHECKED; i++) {
    const right = one.isScan ? words.matches(words.prefix(scatter(i))) : [words.texts[scatter(i)]!]
    const found = await one.find(scatter(i), i % CALLERS)
    if (found.join() !== right.join()) throw new Error(`${one.name} has a wrong answer: ${found.join()}`)
  }
}

async function openWarpdex(words: Words, clients: readonly Client[]): Promise<Answering[]> {
  const [client] = clients
  const definition = { name: INDEX, keyType: 'string', payloadKind: 'u32', unique: true } as const
  const index = await client!.createIndex(definition)
  await index.bulkLoad(
    (function* () {
      for (let first = 0; first < KEYS; first += LOAD_BATCH) {
        const keys = words.texts.slice(first, first + LOAD_BATCH)
        yield { keys, payloads: Uint32Array.from(keys, (_, i) => first + i) }
      }
    })(),
  )
  // It would else be taken while something is measured.
  await client!.takeSnapshot(INDEX)
  const apart = clients.map((one) => one.index<'string', 'u32'>(INDEX))
  return [
    ...warpdexCalls('warpdex', words, () => index),
    ...warpdexCalls(`warpdex, ${CALLERS} clients`, words, (caller) => apart[caller]!),
  ]
}

/** Gets and scans, by one client or by one for each caller. */
function warpdexCalls(
  name: string,
  words: Words,
  indexOf: (caller: number) => Index<'string', 'u32'>,
): Answering[] {
  const get = `${name}: get`
  return [
    {
      name: get,
      beside: get,
      isScan: false,
      find: async (i, caller) => {
        const payload = await indexOf(caller).get(words.texts[i]!)
        return payload === undefined ? [] : [words.texts[payload]!]
      },
    },
    {
      name: `${name}: scan of ${LIMIT}`,
      beside: get,
      isScan: true,
      find: async (i, caller) => {
        const found: string[] = []
        const scan = indexOf(caller).entries({ prefix: words.prefix(i), limit: LIMIT })
        for await (const { key } of scan) found.push(key)
        return found
      },
    },
  ]
}

async function openRedis(
  words: Words,
  program: string,
  ends: (() => Promise<unknown>)[],
): Promise<(Answering | MissingPeer)[]> {
  const server = await startRedis(program)
  if ('missing' in server) return [server]
  ends.push(server.stop)
  const redis = new Redis(server.port, '127.0.0.1')
  ends.push(async () => redis.disconnect())
  for (let first = 0; first < KEYS; first += LOAD_BATCH) {
    const texts = words.texts.slice(first, first + LOAD_BATCH)
    await redis.zadd(INDEX, ...texts.flatMap((text) => [0, text]))
    await redis.mset(texts.flatMap((text) => [text, text]))
  }
  const get = 'Redis: GET'
  return [
    {
      name: get,
      beside: get,
      isScan: false,
      find: async (i) => [(await redis.get(words.texts[i]!)) ?? ''],
    },
    {
      name: `Redis: ZRANGEBYLEX of ${LIMIT}`,
      beside: get,
      isScan: true,
      find: (i) => {
        const prefix = words.prefix(i)
        return redis.zrangebylex(INDEX, `[${prefix}`, `[${prefix}~`, 'LIMIT', 0, LIMIT)
      },
    },
  ]
}

async function openLevel(
  words: Words,
  ends: (() => Promise<unknown>)[],
): Promise<(Answering | MissingPeer)[]> {
  const module = await import('classic-level').catch(() => undefined)
  if (module === undefined) return [{ name: 'LevelDB', missing: 'no package classic-level: npm ci' }]
  const folder = mkdtempSync(join(tmpdir(), 'warpdex-peer-'))
  ends.push(async () => rmSync(folder, { recursive: true, force: true }))
  const level = new module.ClassicLevel<string, string>(folder)
  ends.push(() => level.close())
  for (let first = 0; first < KEYS; first += LOAD_BATCH) {
    const texts = words.texts.slice(first, first + LOAD_BATCH)
    await level.batch(texts.map((text) => ({ type: 'put', key: text, value: text })))
  }
  const get = 'LevelDB: get'
  return [
    {
      name: get,
      beside: get,
      isScan: false,
      find: async (i) => [(await level.get(words.texts[i]!)) ?? ''],
    },
    {
      name: `LevelDB: iterator of ${LIMIT}`,
      beside: get,
      isScan: true,
      find: async (i) => {
        const prefix = words.prefix(i)
        const entries = await level.iterator({ gte: prefix, lt: `${prefix}~`, limit: LIMIT }).all()
        return entries.map(([key]) => key)
      },
    },
  ]
}
