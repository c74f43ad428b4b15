import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import type { KV, Kvm } from '@nats-io/kv'
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
  /** Of this node, for people. */
  readonly node: string
}

/** A connection to NATS servers. */
export interface Nats {
  readonly options: NatsOptions
  readonly connection: NatsConnection
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  readonly buckets: Kvm
  readonly newHeaders: () => MsgHdrs
}

/** What the NATS servers have of a replica set. */
export interface NatsReplicaSet extends Nats {
  /** With the messages of the logs of all replica sets of its cluster. */
  readonly stream: string
  /** Of the messages of its log. */
  readonly subject: string
  /** Of what nodes tell those of another replica set, by its number. */
  readonly subjectTo: (set: number) => string
  /** With its lease. */
  readonly bucket: KV
}

/** How long an answer is waited for: servers without a leader give none. */
export const REQUEST_MS = 2000
/** How long is waited for servers that start, or choose a leader. */
const PATIENCE_MS = 30_000
const RETRY_MS = 200
const PING_MS = 1000
/** How long a server has for its first words. */
const DIAL_MS = 3000
/** What a JetStream says that is not ready, or whose servers have not found each other: errors 10004 to 10009. */
const NOT_READY = { from: 10_004, to: 10_009 } as const
/** What the client calls it when no server listens for what it asks. */
const NOBODY = 'JetStreamNotEnabled'
const TOO_FEW_SERVERS: readonly number[] = [10_005, 10_074]
const NO_STREAM = 10_059

/**
 * Connects to NATS servers.
 * @throws WarpdexError `BAD_REQUEST` where a package is not installed, the servers cannot be reached or would lose what they acknowledged
 */
export async function openNats(options: NatsOptions): Promise<Nats> {
  const { transport, jetstream, kv } = await load()
  const connection = await connect(transport, options)
  try {
    await requireSafe(connection, options)
    const manager = await reached(options, () =>
      jetstream.jetstreamManager(connection, { timeout: REQUEST_MS }).catch((cause: unknown) => {
        // This does not pass, as it does later, when a stream that is there has no leader.
        throw Object(cause).name === NOBODY ? new Error('they have no JetStream', { cause }) : cause
      }),
    )
    const client = jetstream.jetstream(connection, { timeout: REQUEST_MS })
    const buckets = new kv.Kvm(client)
    return { options, connection, client, manager, buckets, newHeaders: () => transport.headers() }
  } catch (error) {
    await connection.close()
    throw error
  }
}

/**
 * The stream of a cluster and the bucket of one of its replica sets, which are made where there are none.
 * @param set number of the replica set
 * @throws WarpdexError `BAD_REQUEST` where the servers do not keep it, or not whole
 */
export async function openReplicaSet(nats: Nats, cluster: string, set: number): Promise<NatsReplicaSet> {
  const { options, manager, buckets } = nats
  const stream = `warpdex-${cluster}`
  const subjects = `warpdex.${cluster}.*`
  const { config } = await reached(options, () => openStream(manager, { name: stream, subjects }, options))
  requireWhole(config, options)
  const replicas = config.num_replicas
  const bucket = await reached(options, () =>
    buckets.create(`${stream}-${set}`, { replicas, history: 1, allow_direct: false }),
  )
  const subject = `warpdex.${cluster}.${set}`
  return { ...nats, stream, subject, subjectTo: (other) => `warpdex.${cluster}.to.${other}`, bucket }
}

/**
 * The bucket in which the nodes of a cluster announce themselves.
 * @param ttl milliseconds after which it forgets one
 * @throws WarpdexError `BAD_REQUEST` where the servers do not keep it
 */
export function openMembers({ options, buckets }: Nats, cluster: string, ttl: number): Promise<KV> {
  return replicated(options, (replicas) =>
    buckets.create(`warpdex-${cluster}-members`, { replicas, history: 1, allow_direct: false, ttl }),
  )
}

/**
 * Has something made of which each server has a copy: of one replica where there are too few servers and the operator takes them.
 * @throws WarpdexError `BAD_REQUEST` where the servers do not keep it
 */
export function replicated<T>(options: NatsOptions, make: (replicas: number) => Promise<T>): Promise<T> {
  return reached(options, () =>
    make(REPLICAS).catch((error: unknown) => {
      if (!isForOne(error, options)) throw error
      return make(1)
    }),
  )
}

/** Asks servers that may not be ready yet. */
async function reached<T>({ servers }: NatsOptions, ask: () => Promise<T>): Promise<T> {
  try {
    return await patiently(ask)
  } catch (cause) {
    const { message } = toWarpdexError(cause)
    throw badRequest(`the NATS servers ${servers} keep nothing of the cluster: ${message}`, { cause })
  }
}

/** Whether they are too few for all replicas, and the operator takes them. */
function isForOne(error: unknown, { unsafe }: NatsOptions): boolean {
  return unsafe && TOO_FEW_SERVERS.includes(Object(error).code)
}

function connect(transport: Transport, { servers, credentials, node }: NatsOptions): Promise<NatsConnection> {
  const authenticator =
    credentials === '' ? undefined : transport.credsAuthenticator(readFileSync(credentials))
  const connecting = transport.connect({
    servers: servers.split(','),
    name: `warpdex ${node}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    // A server that is silent is left for another one.
    pingInterval: PING_MS,
    maxPingOut: 2,
    timeout: DIAL_MS,
    // A server that does not hear the node answers as if its credentials were missing.
    ignoreAuthErrorAbort: true,
    ...(authenticator && { authenticator }),
  })
  return connecting.catch((cause: unknown) => {
    const { message } = toWarpdexError(cause)
    throw badRequest(`the NATS servers ${servers} cannot be reached: ${message}`, { cause })
  })
}

type Transport = typeof import('@nats-io/transport-node')

/** Tries again while servers are not ready. What was not answered may have been done. */
export async function patiently<T>(attempt: () => Promise<T>): Promise<T> {
  for (const until = performance.now() + PATIENCE_MS; ; await pause(RETRY_MS)) {
    try {
      return await attempt()
    } catch (error) {
      const { code, name } = Object(error)
      const isPassing =
        name === 'TimeoutError' || name === NOBODY || (code >= NOT_READY.from && code <= NOT_READY.to)
      if (!isPassing || performance.now() > until) throw error
    }
  }
}

/** Takes the stream that is there, or makes one: of three replicas where there are three servers. */
async function openStream(
  manager: JetStreamManager,
  { name, subjects }: { name: string; subjects: string },
  options: NatsOptions,
) {
  const found = await manager.streams.info(name).catch((error: unknown) => {
    if (Object(error).code !== NO_STREAM) throw error
  })
  if (found !== undefined) return found
  const config = {
    name,
    subjects: [subjects],
    num_replicas: REPLICAS,
    allow_atomic: true,
    deny_delete: true,
    // A full one refuses entries; it forgets none.
    discard: 'new' as const,
  }
  await manager.streams.add(config).catch((error: unknown) => {
    if (!isForOne(error, options)) throw error
    return manager.streams.add({ ...config, num_replicas: 1 })
  })
  // Only its leader tells: it may have been another node that made it just now, and have none.
  return manager.streams.info(name)
}

async function load() {
  try {
    const transport = await import('@nats-io/transport-node')
    const jetstream = await import('@nats-io/jetstream')
    return { transport, jetstream, kv: await import('@nats-io/kv') }
  } catch (cause) {
    const command = installCommand('@nats-io/transport-node', '@nats-io/jetstream', '@nats-io/kv')
    throw badRequest(`a cluster needs the clients of NATS: ${command}`, { cause })
  }
}
