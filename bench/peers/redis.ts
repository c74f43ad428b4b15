import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { PayloadRows, ReadAnswer } from '../../clients/load-test/target.js'
import { asBytes } from '../../protocol/columns.js'
import {
  type Batch,
  columnAnswer,
  KEY_BYTES,
  listAnswer,
  type MissingPeer,
  type Peer,
  payloadRow,
} from './peer.js'
import { columnCommand, RespClient, rangeCommand } from './resp-client.js'

/** What to do about a missing Redis. */
const INSTALL = 'no redis-server on the PATH: apt-get install redis-server, or name one with --redis-server'

/** Sorted set of the scans. */
const SORTED = 'sorted'

const NOTE = 'in memory, nothing on disk'

/** A Redis server in a process of its own. */
export interface RedisProcess {
  readonly port: number
  readonly version: string
  readonly stop: () => Promise<void>
}

/** @param program of the server; it keeps nothing on disk */
export async function startRedis(program: string): Promise<RedisProcess | MissingPeer> {
  const version = /v=(\S+)/.exec(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1]
  if (version === undefined) return { name: 'Redis', missing: INSTALL }
  const port = await freePort()
  const flags = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const child = spawn(program, flags, { stdio: 'ignore' })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  for (let attempt = 0; ; attempt++) {
    try {
      const client = await RespClient.open(port)
      await client.close()
      break
    } catch (error) {
      if (attempt === 50 || child.exitCode !== null) throw error
      await setTimeout(100)
    }
  }
  const stop = async () => {
    process.off('exit', kill)
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  return { port, version, stop }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}

/** Redis by a client that knows columns. */
export class RedisPeer implements Peer {
  readonly name = 'Redis, columns'
  readonly note = `MGET by a client written for this comparison, without an object a key; ${NOTE}`
  readonly #client: RespClient
  readonly #width: number

  private constructor(client: RespClient, width: number) {
    this.#client = client
    this.#width = width
  }

  static async open(port: number, width: number): Promise<RedisPeer> {
    return new RedisPeer(await RespClient.open(port), width)
  }

  async read({ words, count }: Batch): Promise<ReadAnswer> {
    const width = this.#width
    const rows = new Uint8Array(count * width)
    const missing: number[] = []
    let row = 0
    await this.#client.send(columnCommand('MGET', count, [keyRows(words)]), (bytes, start, length) => {
      if (length !== width) missing.push(row)
      else for (let i = 0, to = row * width; i < width; i++) rows[to + i] = bytes[start + i]!
      row++
    })
    return columnAnswer(rows, width, missing.length === 0 ? () => true : (i) => !missing.includes(i))
  }

  async insert({ words, count }: Batch, payloads: PayloadRows): Promise<void> {
    await this.#client.send(columnCommand('MSET', count, [keyRows(words), payloads]), () => {})
  }

  /** Stores keys and payloads as members of a sorted set, for scans. */
  async insertSorted({ bigEndian, count }: Batch, payloads: PayloadRows): Promise<void> {
    const members = {
      bytes: new Uint8Array(count * (KEY_BYTES + payloads.width)),
      width: KEY_BYTES + payloads.width,
    }
    const scores = { bytes: new Uint8Array(count).fill(48), width: 1 }
    for (let i = 0; i < count; i++) {
      members.bytes.set(bigEndian.subarray(i * KEY_BYTES, (i + 1) * KEY_BYTES), i * members.width)
      members.bytes.set(payloadRow(payloads, i), i * members.width + KEY_BYTES)
    }
    const command = columnCommand('ZADD', count, [scores, members])
    const head = Buffer.from(
      `*${2 * count + 2}\r\n$4\r\nZADD\r\n$${SORTED.length}\r\n${SORTED}\r\n`,
      'latin1',
    )
    const rows = command.subarray(command.indexOf('ZADD\r\n') + 6)
    await this.#client.send(Buffer.concat([head, rows]), () => {})
  }

  async scan({ bigEndian, count }: Batch, limit: number): Promise<number> {
    let entries = 0
    const member = KEY_BYTES + this.#width
    const rows = new Uint8Array(count * limit * member)
    const command = rangeCommand(SORTED, bigEndian, limit)
    const size = command.length / count
    const replies = Array.from({ length: count }, (_, i) =>
      this.#client.send(command.subarray(i * size, (i + 1) * size), (bytes, start, length) => {
        for (let j = 0, to = entries * member; j < length; j++) rows[to + j] = bytes[start + j]!
        entries++
      }),
    )
    await Promise.all(replies)
    return entries
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

/** Redis by its usual client, with a Buffer a key and a Buffer a payload. */
export class IoredisPeer implements Peer {
  readonly name = 'Redis, ioredis'
  readonly note = `MGET by ioredis, payloads as Buffers; ${NOTE}`
  readonly #redis: Redis

  constructor(port: number) {
    this.#redis = new Redis(port, '127.0.0.1')
  }

  async read({ words, count }: Batch): Promise<ReadAnswer> {
    return listAnswer(await this.#redis.mgetBuffer(keyBuffers(words, count)))
  }

  async insert({ words, count }: Batch, payloads: PayloadRows): Promise<void> {
    await this.#redis.mset(keyBuffers(words, count).flatMap((key, i) => [key, payloadRow(payloads, i)]))
  }

  async close(): Promise<void> {
    this.#redis.disconnect()
  }
}

function keyRows(words: Uint32Array): { readonly bytes: Uint8Array; readonly width: number } {
  return { bytes: asBytes(words), width: KEY_BYTES }
}

function keyBuffers({ buffer, byteOffset }: Uint32Array, count: number): Buffer[] {
  return Array.from({ length: count }, (_, i) => Buffer.from(buffer, byteOffset + i * KEY_BYTES, KEY_BYTES))
}
