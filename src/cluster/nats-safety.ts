import type { StreamConfig } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { badRequest, toWarpdexError } from '../../protocol/errors.js'
import type { NatsOptions } from './nats.js'

/** Servers keep what they acknowledged where so many have it: one may be lost. */
export const REPLICAS = 3
/** From here on servers append several messages at once, or none of them. */
const LEAST_VERSION = [2, 12] as const
/** Where servers say how they are set up, if their system account lets an account ask. */
const ASK = '$SYS.REQ.SERVER.PING.JSZ'

/** What of a server's answer is read; `config` is missing where it has no JetStream. */
interface ServerState {
  readonly config?: { readonly sync_always?: boolean }
}

/**
 * Refuses servers that may lose what they acknowledged, unless the operator takes them.
 * @throws WarpdexError `BAD_REQUEST` with what to set
 */
export async function requireSafe(
  connection: NatsConnection,
  { monitors, unsafe }: Pick<NatsOptions, 'monitors' | 'unsafe'>,
): Promise<void> {
  requireVersion('the NATS server', connection.info?.version ?? '')
  if (unsafe) return
  const states = await askServers(connection)
  for (const monitor of monitors === '' ? [] : monitors.split(','))
    states.set(`at ${monitor}`, await askMonitor(monitor))
  if (states.size === 0) {
    throw badRequest(
      `whether the NATS servers sync what they acknowledge is not known: let the account import the service ${ASK} of the system account, name their monitoring, as in --nats-monitors http://HOST:8222,…, or take the servers as they are by --nats-unsafe`,
    )
  }
  for (const [server, { config }] of states) {
    if (config === undefined || config.sync_always === true) continue
    throw badRequest(
      `the NATS server ${server} acknowledges before it has synced; set sync_interval: always in its jetstream block`,
    )
  }
}

/** @throws WarpdexError `BAD_REQUEST` for a stream that would not keep a log whole */
export function requireWhole(config: StreamConfig, { unsafe }: Pick<NatsOptions, 'unsafe'>): void {
  const { name, num_replicas, storage, allow_atomic, discard } = config
  const { max_age, max_msgs, max_bytes, max_msgs_per_subject } = config
  const lacks: string[] = []
  if (!unsafe && num_replicas < REPLICAS) lacks.push(`${REPLICAS} replicas, not ${num_replicas}`)
  if (!unsafe && storage !== 'file') lacks.push('storage in files')
  if (allow_atomic !== true) lacks.push('atomic batches')
  if (max_age !== 0 || max_msgs_per_subject !== -1) {
    lacks.push('no maximum of age or of messages per subject')
  }
  if (discard !== 'new' && (max_msgs !== -1 || max_bytes !== -1))
    lacks.push('discard: new where it is limited')
  if (lacks.length > 0) throw badRequest(`the stream ${name} needs ${lacks.join(', ')}`)
}

/** @throws WarpdexError `BAD_REQUEST` for a server that is too old */
export function requireVersion(server: string, version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [leastMajor, leastMinor] = LEAST_VERSION
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return
  throw badRequest(`${server} is ${version}; ${LEAST_VERSION.join('.')} or later is needed`)
}

/** @returns what servers say, by their names; none where the account may not ask */
async function askServers(connection: NatsConnection): Promise<Map<string, ServerState>> {
  const states = new Map<string, ServerState>()
  const answers: {
    readonly server: { readonly name: string; readonly ver: string }
    readonly data?: ServerState
  }[] = []
  try {
    const options = { strategy: 'stall', maxWait: 2000 } as const
    for await (const answer of await connection.requestMany(ASK, '{"config":true}', options))
      answers.push(answer.json())
  } catch {
    // Nobody answers.
  }
  for (const { server, data = {} } of answers) {
    requireVersion(`the NATS server ${server.name}`, server.ver)
    states.set(server.name, data)
  }
  return states
}

async function askMonitor(monitor: string): Promise<ServerState> {
  const url = `${monitor}/jsz?config=true`
  try {
    return await (await fetch(url, { signal: AbortSignal.timeout(3000) })).json()
  } catch (cause) {
    throw badRequest(`${url} cannot be read: ${toWarpdexError(cause).message}`, { cause })
  }
}
