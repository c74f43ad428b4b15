import { Redis } from 'ioredis'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import type { LoadTestOptions } from './options.js'
import type { KeyColumn, PayloadRows, ReadAnswer, ScanAnswer, ServerFacts, Target } from './target.js'

/** Keys of a command of the load: more make Redis keep others waiting, and gain nothing. */
const LOAD_KEYS = 1000
/** Commands of the load that are under way. */
const LOAD_DEPTH = 8

/**
 * A connection to a Redis server under test. Items are plain keys with their bytes as names, in the database that the URL names.
 */
export class RedisTarget implements Target {
  readonly #redis: Redis

  private constructor(redis: Redis) {
    this.#redis = redis
  }

  static async open({ url }: LoadTestOptions): Promise<RedisTarget> {
    return new RedisTarget(await open(url))
  }

  async describe(): Promise<ServerFacts> {
    const info = await this.#redis.info('server')
    return {
      kind: 'redis',
      version: /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown',
      adapter: undefined,
    }
  }

  async create(): Promise<void> {
    const keys = await this.#redis.dbsize()
    if (keys === 0) return
    throw new WarpdexError(
      'INDEX_EXISTS',
      `the Redis database has ${keys} keys already; name an empty one, as redis://127.0.0.1:6379/7 does, or give --no-load`,
    )
  }

  /** Any database fits. */
  async check(): Promise<void> {}

  async load(
    batches: Iterable<readonly [KeyColumn, PayloadRows]>,
    onProgress: (stored: number) => void,
  ): Promise<void> {
    let stored = 0
    const underWay = new Set<Promise<void>>()
    for (const [keys, rows] of batches) {
      for (let first = 0; first < keys.count; first += LOAD_KEYS) {
        const end = Math.min(first + LOAD_KEYS, keys.count)
        const sent = this.#redis.mset(pairs(keys, rows, first, end)).then(() => {
          underWay.delete(sent)
          stored += end - first
        })
        underWay.add(sent)
        if (underWay.size >= LOAD_DEPTH) await Promise.race(underWay)
      }
      onProgress(stored)
    }
    await Promise.all(underWay)
    onProgress(stored)
  }

  async remove(batches: Iterable<KeyColumn>): Promise<void> {
    for (const keys of batches) {
      for (let first = 0; first < keys.count; first += LOAD_KEYS) {
        await this.#redis.unlink(names(keys, first, Math.min(first + LOAD_KEYS, keys.count)))
      }
    }
  }

  async read(keys: KeyColumn): Promise<ReadAnswer> {
    const list = names(keys, 0, keys.count)
    const rows = await answered(list.length === 1 ? this.#one(list[0]) : this.#redis.mgetBuffer(list))
    return { row: (i) => rows[i] ?? undefined }
  }

  async update(keys: KeyColumn, payloads: PayloadRows): Promise<void> {
    await answered(this.#redis.mset(pairs(keys, payloads, 0, keys.count)))
  }

  /** Redis has no command that stores several keys and says which were there: they are taken for new. */
  async insert(keys: KeyColumn, payloads: PayloadRows): Promise<number> {
    await this.update(keys, payloads)
    return 0
  }

  async scan(): Promise<ScanAnswer> {
    throw badRequest(NO_SCANS)
  }

  async walk(): Promise<ScanAnswer> {
    throw badRequest(NO_SCANS)
  }

  close(): void {
    this.#redis.disconnect()
  }

  async #one(name: Buffer): Promise<(Buffer | null)[]> {
    return [await this.#redis.getBuffer(name)]
  }
}

/** Why workloads with scans or walks do not run on Redis. */
export const NO_SCANS =
  'Redis keeps plain keys in no order and cannot scan ranges of them, or walk; choose a workload without scans and walks (a, b, c, d, f, lookup, ingest)'

async function open(url: string): Promise<Redis> {
  const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1, retryStrategy: () => null })
  let reason = 'no answer'
  redis.on('error', (error: Error) => {
    reason = error.message
  })
  try {
    await redis.connect()
    return redis
  } catch (cause) {
    redis.disconnect()
    const message = cause instanceof Error && cause.message !== '' ? cause.message : reason
    throw new WarpdexError('CONNECTION_LOST', `no connection to ${withoutPassword(url)}: ${message}`, {
      cause,
    })
  }
}

/** @throws WarpdexError `CONNECTION_LOST`, or `INTERNAL` with Redis' own words */
async function answered<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    const lost = /closed|ECONN|EPIPE|max retries/i.test(message)
    throw new WarpdexError(lost ? 'CONNECTION_LOST' : 'INTERNAL', message, { cause })
  }
}

/** The names of keys: views of the column. */
function names({ words, width }: KeyColumn, first: number, end: number): Buffer[] {
  const bytes = 4 * width
  const start = words.byteOffset + first * bytes
  return Array.from({ length: end - first }, (_, i) => Buffer.from(words.buffer, start + i * bytes, bytes))
}

/** Names and payloads in turn. */
function pairs(keys: KeyColumn, { bytes, width }: PayloadRows, first: number, end: number): Buffer[] {
  const list: Buffer[] = []
  for (const name of names(keys, first, end)) {
    const row = first + list.length / 2
    list.push(name, Buffer.from(bytes.buffer, bytes.byteOffset + row * width, width))
  }
  return list
}

/** An address for messages. */
function withoutPassword(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//')
}
