import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { connect } from '../../clients/sdk/index.js'
import type { AdapterChoice } from '../../gpu/device/adapter.js'
import { LIMITS } from '../../protocol/limits.js'
import { mostIoThreads } from '../../src/config/settings.js'
import { scatteredKeys } from '../keys.js'
import type { Row } from '../report.js'
import { withServer } from '../server-process.js'

/** Together they have more than all clients may have in flight. */
const CLIENTS = 20
const ANNOUNCED_BYTES = 67_000_000
const SENT_BYTES = 60 * 2 ** 20
const PIECE = Buffer.alloc(2 ** 20)

/** Bytes in flight from which on others have to wait. */
const FULL_BYTES = 0.98 * LIMITS.bytesInAll

/** Rows of a request of 10 MB: a u64 key and a u64 payload each. */
const ROWS = 655_360

/** The close code of who begins a request and does not go on. */
const REQUEST_TOO_SLOW = 4009

/** A client that begins a large request and stops. */
interface Stalled {
  begin(): void
  /** Resolves when it is closed, with the code. */
  readonly closed: Promise<number>
}

/**
 * Clients at the default limits that announce 67 MB each, send 60 MiB and stop: how long the 10 MB of another one take then, and
 * beside nobody, and after how many seconds the last of them is closed. Everything is as by default but for the threads that listen.
 *
 * @param stallSeconds for which clients may stop
 */
export async function benchStalledClients(adapter: AdapterChoice, stallSeconds: number): Promise<Row[]> {
  const rows: Row[] = []
  for (const ioThreads of [0, Math.min(2, mostIoThreads())])
    rows.push(await measure(adapter, stallSeconds, ioThreads))
  return rows
}

function measure(adapter: AdapterChoice, stallSeconds: number, ioThreads: number): Promise<Row> {
  const flags = ['--adapter', adapter, '--stall-seconds', `${stallSeconds}`, '--io-threads', `${ioThreads}`]
  return withServer(flags, async ({ url }) => {
    const client = await connect(url)
    await client.createIndex({ name: 'numbers', keyType: 'u64', payloadKind: 'u64', unique: true })
    const keys = new BigUint64Array(scatteredKeys(2, 0, ROWS).buffer)
    const index = client.index<'u64', 'u64'>('numbers')
    const ask = () => secondsOf(() => index.putMany(keys, keys))
    await ask()
    const alone = await ask()
    const stalled = await Promise.all(Array.from({ length: CLIENTS }, () => openStalled(url)))
    for (const one of stalled) one.begin()
    while ((await bytesInFlight(url)) < FULL_BYTES) await setTimeout(10)
    const since = performance.now()
    const closing = Promise.all(stalled.map(({ closed }) => closed)).then((codes) => ({
      codes,
      seconds: (performance.now() - since) / 1000,
    }))
    const beside = await ask()
    const { codes, seconds } = await closing
    client.close()
    return {
      name: `${CLIENTS} stalled clients, ${ioThreads} threads that listen`,
      figures: {
        'stall-seconds': stallSeconds,
        '10 MB alone, s': alone,
        'beside them, s': beside,
        'in stall-seconds': beside / stallSeconds,
        'all closed after, s': seconds,
        [`closed with ${REQUEST_TOO_SLOW}`]: codes.filter((code) => code === REQUEST_TOO_SLOW).length,
      },
    }
  })
}

async function openStalled(url: string): Promise<Stalled> {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  const upgraded = once(socket, 'upgrade') as Promise<[IncomingMessage]>
  const closed = once(socket, 'close').then(([code]: number[]) => code ?? 0)
  socket.on('error', () => {})
  const [[{ socket: stream }]] = await Promise.all([upgraded, once(socket, 'open')])
  // One frame with a mask of zeros, so that its content stands in it as it is; the library has no part in it.
  const head = Buffer.alloc(14)
  head.writeUInt16BE(0x82ff, 0)
  head.writeBigUInt64BE(BigInt(ANNOUNCED_BYTES), 2)
  const begin = () => {
    stream.write(head)
    for (let left = SENT_BYTES; left > 0; left -= PIECE.length) stream.write(PIECE)
  }
  return { begin, closed }
}

async function bytesInFlight(url: string): Promise<number> {
  const response = await fetch(`${url.replace('ws', 'http')}/metrics`)
  return Number(/^warpdex_bytes_in_flight (\S+)$/m.exec(await response.text())?.[1])
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now()
  await work()
  return (performance.now() - since) / 1000
}
