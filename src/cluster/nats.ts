import { readFileSync } from 'node:fs'
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import type { MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { badRequest, toWarpdexError } from '../../protocol/errors.js'
import { installCommand } from '../../protocol/optional-packages.js'
import { LEASE_SECONDS } from './lease.js'

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

/** Servers keep what they acknowledged where so many have it. */
const REPLICAS = 3
const LEAST_VERSION = [2, 12]

/**
 * Connects to NATS servers, and makes the stream and the bucket of a replica set where there are none.
 * @throws WarpdexError `BAD_REQUEST` where a package is not installed, the servers cannot be reached or would lose what they acknowledged
 */
export async function openNats(options: NatsOptions): Promise<Nats> {
  const { servers, credentials, name, node } = options
  const { transport, jetstream, kv } = await load()
  if (!options.unsafe) await requireSynced(options.monitors)
  const authenticator =
    credentials === '' ? undefined : transport.credsAuthenticator(readFileSync(credentials))
  const connection = await transport
    .connect({
      servers: servers.split(','),
      name: `warpdex ${node}`,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      ...(authenticator && { authenticator }),
    })
    .catch((cause: unknown) => {
      throw badRequest(`the NATS servers ${servers} cannot be reached: ${toWarpdexError(cause).message}`, {
        cause,
      })
    })
  try {
    const replicas = options.unsafe ? 1 : REPLICAS
    if (!options.unsafe) requireVersion(connection.info?.version ?? '')
    const manager = await jetstream.jetstreamManager(connection)
    const client = jetstream.jetstream(connection)
    const stream = `warpdex-${name}`
    const subject = `warpdex.${name}`
    await manager.streams.info(stream).catch(() =>
      manager.streams.add({
        name: stream,
        subjects: [subject],
        num_replicas: replicas,
        allow_atomic: true,
        max_consumers: -1,
      }),
    )
    const bucket = await new kv.Kvm(client).create(stream, {
      ttl: LEASE_SECONDS * 1000,
      replicas,
      history: 1,
    })
    const { config } = await manager.streams.info(stream)
    if (config.num_replicas < replicas)
      throw badRequest(`the stream ${stream} has ${config.num_replicas} replicas; it needs ${replicas}`)
    return { connection, client, manager, stream, subject, bucket, newHeaders: () => transport.headers() }
  } catch (cause) {
    await connection.close()
    const { code, message } = toWarpdexError(cause)
    if (code === 'BAD_REQUEST') throw cause
    throw badRequest(
      `the NATS servers ${servers} do not take a log of ${replicasOf(options)} replicas: ${message}`,
      { cause },
    )
  }
}

function replicasOf({ unsafe }: NatsOptions): number {
  return unsafe ? 1 : REPLICAS
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

function requireVersion(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [leastMajor = 0, leastMinor = 0] = LEAST_VERSION
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return
  throw badRequest(`the NATS server is ${version}; ${LEAST_VERSION.join('.')} or later is needed`)
}

/** What clients are told of a server does not include when it syncs, but its monitoring does. */
async function requireSynced(monitors: string): Promise<void> {
  if (monitors === '') {
    throw badRequest(
      'whether the NATS servers sync what they acknowledge is seen by their monitoring only; name it, as in --nats-monitors http://HOST:8222,…, or take the servers as they are by --nats-unsafe',
    )
  }
  for (const monitor of monitors.split(',')) {
    const url = `${monitor}/jsz?config=true`
    const answer = await fetch(url)
      .then((response) => response.json())
      .catch((cause: unknown) => {
        throw badRequest(`${url} cannot be read: ${toWarpdexError(cause).message}`, { cause })
      })
    if (Object(Object(answer).config).sync_always === true) continue
    throw badRequest(
      `the NATS server at ${monitor} acknowledges before it has synced; set sync_interval: always in its jetstream block`,
    )
  }
}
