import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import type { MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { badRequest, toWarpdexError } from '../../protocol/errors.js'
import { installCommand } from '../../protocol/optional-packages.js'
import { REPLICAS, requireSafe, requireWhole } from './nats-safety.js'

export interface NatsOptions {
  /** Addresses with commas between them. */
  readonly servers: string
  /** Path of a file, or empty. */
  readonly credentials: string
  /** HTTP addresses of the servers' monitoring, with commas between them, or empty. */
  readonly monitors: string
  /** Whether servers are taken that may lose what they acknowledged. */
  readonly unsafe: boolean
  /** Name of the replica set. */
  readonly name: string
  /** Of this node, for people. */
  readonly node: string
}

/** What a node has of the NATS servers. */
export interface Nats {
  readonly connection: NatsConnection
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  /** With the messages of the replica set's log. */
  readonly stream: string
  readonly subject: string
  /** With its lease. */
  readonly bucket: KV
  readonly newHeaders: () => MsgHdrs
}

/** How long an answer is waited for: servers without a leader give none. */
export const REQUEST_MS = 2000
/** How long is waited for servers that start, or choose a leader. */
const PATIENCE_MS = 30_000
const RETRY_MS = 200
/** What a JetStream says that is not ready, or whose servers have not found each other: errors 10004 to 10009. */
const NOT_READY = { from: 10_004, to: 10_009 } as const
const TOO_FEW_SERVERS: readonly number[] = [10_005, 10_074]
const NO_STREAM = 10_059

/**
 * Connects to NATS servers, and makes the stream and the bucket of a replica set where there are none.
 * @throws WarpdexError `BAD_REQUEST` where a package is not installed, the servers cannot be reached or would lose what they acknowledged
 */
export async function openNats(options: NatsOptions): Promise<Nats> {
  const { servers, name } = options
  const { transport, jetstream, kv } = await load()
  const connection = await connect(transport, options)
  try {
    await requireSafe(connection, options)
    const manager = await patiently(() => jetstream.jetstreamManager(connection, { timeout: REQUEST_MS }))
    const client = jetstream.jetstream(connection, { timeout: REQUEST_MS })
    const stream = `warpdex-${name}`
    const subject = `warpdex.${name}`
    const { config } = await patiently(() => openStream(manager, { name: stream, subject }, options))
    requireWhole(config, options)
    const replicas = config.num_replicas
    const bucket = await patiently(() =>
      new kv.Kvm(client).create(stream, { replicas, history: 1, allow_direct: false }),
    )
    return { connection, client, manager, stream, subject, bucket, newHeaders: () => transport.headers() }
  } catch (cause) {
    await connection.close()
    const { code, message } = toWarpdexError(cause)
    if (code === 'BAD_REQUEST') throw cause
    throw badRequest(`the NATS servers ${servers} keep no log of the replica set: ${message}`, { cause })
  }
}

function connect(transport: Transport, { servers, credentials, node }: NatsOptions): Promise<NatsConnection> {
  const authenticator =
    credentials === '' ? undefined : transport.credsAuthenticator(readFileSync(credentials))
  const connecting = transport.connect({
    servers: servers.split(','),
    name: `warpdex ${node}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    ...(authenticator && { authenticator }),
  })
  return connecting.catch((cause: unknown) => {
    const { message } = toWarpdexError(cause)
    throw badRequest(`the NATS servers ${servers} cannot be reached: ${message}`, { cause })
  })
}

type Transport = typeof import('@nats-io/transport-node')

/** Tries again while servers are not ready. */
async function patiently<T>(attempt: () => Promise<T>): Promise<T> {
  for (const until = performance.now() + PATIENCE_MS; ; await pause(RETRY_MS)) {
    try {
      return await attempt()
    } catch (error) {
      const { code, name } = Object(error)
      const isPassing = name === 'TimeoutError' || (code >= NOT_READY.from && code <= NOT_READY.to)
      if (!isPassing || performance.now() > until) throw error
    }
  }
}

/** Takes the stream that is there, or makes one: of three replicas where there are three servers. */
async function openStream(
  manager: JetStreamManager,
  { name, subject }: { name: string; subject: string },
  { unsafe }: NatsOptions,
) {
  const found = await manager.streams.info(name).catch((error: unknown) => {
    if (Object(error).code !== NO_STREAM) throw error
  })
  if (found !== undefined) return found
  const config = {
    name,
    subjects: [subject],
    num_replicas: REPLICAS,
    allow_atomic: true,
    deny_delete: true,
    // A full one refuses entries; it forgets none.
    discard: 'new' as const,
  }
  return manager.streams.add(config).catch((error: unknown) => {
    if (!unsafe || !TOO_FEW_SERVERS.includes(Object(error).code)) throw error
    return manager.streams.add({ ...config, num_replicas: 1 })
  })
}

async function load() {
  try {
    const transport = await import('@nats-io/transport-node')
    const jetstream = await import('@nats-io/jetstream')
    return { transport, jetstream, kv: await import('@nats-io/kv') }
  } catch (cause) {
    const command = installCommand('@nats-io/transport-node', '@nats-io/jetstream', '@nats-io/kv')
    throw badRequest(`a replica set needs the clients of NATS: ${command}`, { cause })
  }
}
