import { availableParallelism } from 'node:os'
import type { AdapterChoice } from '../../gpu/device/adapter.js'
import { isToken } from '../../protocol/bearer.js'
import { LIMITS } from '../../protocol/limits.js'
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from '../observe/log.js'
import { sizeText } from './size.js'

/** One setting: what it is for, how a value of it looks, and how one is recognised. */
export interface Setting<T> {
  /** Numbers of bytes may have a unit, as in 256M. */
  readonly type: 'string' | 'number' | 'bytes' | 'boolean'
  readonly description: string
  readonly fallback: T
  /** What a right value is, to end the sentence "it must be …". */
  readonly expected: string
  readonly accepts: (value: unknown) => value is T
}

const MIB = 2 ** 20
const MOST_BYTES = 2 ** 50
const DAY_SECONDS = 86_400
const ANY_TEXT: TextRule = { expected: 'a text', isRight: () => true }
const NOT_EMPTY: TextRule = { expected: 'a text that is not empty', isRight: (text) => text !== '' }

/** The settings by name. Flags are `--kebab-case`, environment variables `WARPDEX_UPPER_CASE`, a file's keys as here. */
const settings = {
  directory: text('Folder of all data; created if missing', 'warpdex-data', NOT_EMPTY),
  host: text('Address to listen on', '127.0.0.1', NOT_EMPTY),
  port: whole('Port to listen on; 0 takes a free one', 7070, 0, 65535),
  listen: text('Also listen on a Unix socket, unix:PATH; the mode of its folder says who may open it', '', {
    expected: 'empty, or unix: and the path of a socket of at most 100 bytes',
    isRight: (path) => /^(unix:.+)?$/s.test(path) && Buffer.byteLength(path) <= 105,
  }),
  token: text('Token with all rights; better set as a variable or in the file, since others see flags', '', {
    expected: 'empty, or 1 to 512 printable ASCII characters without blanks',
    isRight: (token) => token === '' || isToken(token),
  }),
  tokens: text('JSON file with tokens and their rights; "warpdex token" makes its entries', ''),
  allowUnauthenticated: flag('Listen on addresses that other machines can reach without a token'),
  tlsCert: text('PEM file with the certificate and its chain; the port then speaks TLS only', ''),
  tlsKey: text('PEM file with the key of the certificate', ''),
  adapter: choice<AdapterChoice>('Adapter: auto prefers a GPU and falls back to software', 'auto', [
    'auto',
    'hardware',
    'software',
  ]),
  snapshotLogBytes: bytes('Bytes of the log of an index after which a snapshot is due', 256 * MIB, MIB),
  feedBytes: zeroOr(
    bytes(
      'Bytes of the newest log of each index that are kept for change feeds. 0 keeps only what snapshots need',
      0,
      MIB,
    ),
  ),
  payloadCacheBytes: bytes('Bytes of payloads of kind bytes to keep in memory', 256 * MIB, MIB),
  deviceMemory: zeroOr(
    bytes(
      'Bytes of device memory for indexes; those that do not fit wait in host memory. 0 sets no limit',
      0,
      MIB,
    ),
  ),
  queryMemory: bytes(
    'Bytes of device memory for one query, beside its relations',
    LIMITS.queryDeviceBytes,
    MIB,
  ),
  queryMemoryInAll: zeroOr(
    bytes(
      "The same for all queries and unread results together. 0 is twice that of one query, on the software adapter at most a quarter of the machine's memory",
      0,
      MIB,
    ),
  ),
  ioThreads: whole(
    'Threads for connections beside that of the engine, at most one before Node 22.12; 0 does everything in one thread',
    defaultIoThreads(),
    0,
    mostIoThreads(),
  ),
  recalibrate: flag('Measure the costs of traversals and selections again even if they are on disk'),
  maxConnections: whole('Clients at a time', LIMITS.connections, 1, 65_536),
  maxRequestsInFlight: whole(
    'Unanswered requests per client',
    LIMITS.requestsInFlight,
    1,
    LIMITS.writeIdsPerClient - 1,
  ),
  maxRequestsInAll: whole('Unanswered requests of all clients', LIMITS.requestsInAll, 1, 2 ** 24),
  maxBytesInFlight: bytes('Bytes of unanswered requests per client', LIMITS.bytesInFlight, MIB),
  maxBytesInAll: bytes('Bytes of unanswered requests of all clients', LIMITS.bytesInAll, MIB),
  maxReplyBytes: bytes('Bytes of unread replies per client', LIMITS.replyBytesQueued, LIMITS.frameBytes),
  maxReplyBytesInAll: bytes(
    'Bytes of unread replies of all clients',
    LIMITS.replyBytesInAll,
    LIMITS.frameBytes,
  ),
  handshakeSeconds: whole('Seconds to open a connection', LIMITS.handshakeSeconds, 1, DAY_SECONDS),
  pingSeconds: whole('Seconds of silence before a client is pinged', LIMITS.pingSeconds, 1, DAY_SECONDS),
  stallSeconds: whole(
    'Seconds for which a client may stop reading or sending',
    LIMITS.stallSeconds,
    1,
    DAY_SECONDS,
  ),
  shutdownSeconds: whole('Seconds for a stop', LIMITS.shutdownSeconds, 1, DAY_SECONDS),
  slowMilliseconds: whole(
    'Milliseconds after which a request is kept in the slow log. 0 keeps none',
    100,
    0,
    3_600_000,
  ),
  logLevel: choice<LogLevel>('Lowest level that is logged, on standard error', 'info', LOG_LEVELS),
  logFormat: choice<LogFormat>(
    'Format of the log: lines for people, or one JSON object per line',
    'text',
    LOG_FORMATS,
  ),
  cluster: text('Name of the cluster that the server is a node of; empty: it is alone', '', {
    expected: 'empty, or 1 to 64 letters, digits, - and _',
    isRight: (name) => /^[A-Za-z0-9_-]{0,64}$/.test(name),
  }),
  replicaSets: whole('Replica sets of the cluster, the same for all of its nodes', 1, 1, LIMITS.replicaSets),
  replicaSet: text(
    'Number of the replica set that the node is of; auto: that of its data, or with the fewest nodes',
    'auto',
    {
      expected: `auto, or a whole number from 0 to ${LIMITS.replicaSets - 1}`,
      isRight: (set) => set === 'auto' || (/^\d{1,3}$/.test(set) && Number(set) < LIMITS.replicaSets),
    },
  ),
  nats: text('NATS servers with the log of the cluster, as nats://HOST:4222,…', ''),
  replicaSnapshots: text(
    'Where snapshots of the replica set are: a folder that all of its nodes see, nats, or s3://BUCKET/PREFIX; without them its log keeps everything',
    '',
    {
      expected: 'empty, nats, s3://BUCKET/PREFIX, file:///PATH or a path',
      isRight: (where) => !where.includes('://') || /^(s3:\/\/[^/]|file:\/\/\/)/.test(where),
    },
  ),
  replicaSnapshotBytes: bytes(
    'Bytes of log after which the owner of the replica set takes one',
    2 ** 30,
    64 * 1024,
  ),
  natsCredentials: text('File with the credentials for the NATS servers', ''),
  natsMonitors: text(
    'HTTP addresses of their monitoring, as http://HOST:8222,…, where they do not tell by NATS that they sync what they acknowledge',
    '',
  ),
  natsUnsafe: flag(
    'Take NATS servers that may lose what they acknowledged: fewer than three, or such that sync late',
  ),
  advertise: text('Address by which clients and other nodes reach this one; by default ws://HOST:PORT', ''),
  backupDirectory: text('Folder for backups that clients ask for; empty allows none', ''),
}

/** Everything that a user decides about a server. */
export type Config = {
  readonly [K in keyof typeof settings]: (typeof settings)[K] extends Setting<infer T> ? T : never
}

export const SETTINGS: { readonly [K in keyof Config]: Setting<Config[K]> } = settings

/** Half of the processors, so that the engine, the system and clients have the others; none where there are but few. */
function defaultIoThreads(): number {
  const processors = availableParallelism()
  return processors < 4 ? 0 : Math.min(8, processors >> 1, mostIoThreads())
}

/** Several threads listen on one port since Node 22.12. */
export function mostIoThreads(): number {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 12) ? 64 : 1
}

function choice<T extends string>(description: string, fallback: T, choices: readonly T[]): Setting<T> {
  const others = choices.slice(0, -1).join(', ')
  return {
    type: 'string',
    description,
    fallback,
    expected: `${others} or ${choices.at(-1)}`,
    accepts: (value): value is T => choices.some((choice) => choice === value),
  }
}

function flag(description: string): Setting<boolean> {
  return {
    type: 'boolean',
    description,
    fallback: false,
    expected: 'true or false',
    accepts: (value) => typeof value === 'boolean',
  }
}

interface TextRule {
  readonly expected: string
  readonly isRight: (text: string) => boolean
}

function text(description: string, fallback: string, rule: TextRule = ANY_TEXT): Setting<string> {
  const { expected, isRight } = rule
  return {
    type: 'string',
    description,
    fallback,
    expected,
    accepts: (value): value is string => typeof value === 'string' && isRight(value),
  }
}

function whole(description: string, fallback: number, least: number, most: number): Setting<number> {
  return {
    type: 'number',
    description,
    fallback,
    expected: `a whole number from ${least} to ${most}`,
    accepts: (value): value is number =>
      typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most,
  }
}

/** A number of bytes from `least` on. */
function bytes(description: string, fallback: number, least: number): Setting<number> {
  const setting = whole(description, fallback, least, MOST_BYTES)
  const range = `from ${sizeText(least)} to ${sizeText(MOST_BYTES)}`
  const expected = `a number of bytes ${range}, such as ${4 * least} or ${sizeText(4 * least)}`
  return { ...setting, type: 'bytes', expected }
}

function zeroOr(setting: Setting<number>): Setting<number> {
  return {
    ...setting,
    expected: `0 or ${setting.expected}`,
    accepts: (value) => value === 0 || setting.accepts(value),
  }
}

/** The name as flags have it. */
export function flagName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** The name as environment variables have it. */
export function variableName(name: string): string {
  return `WARPDEX_${flagName(name).replaceAll('-', '_').toUpperCase()}`
}
