import { availableParallelism } from 'node:os'
import type { AdapterChoice } from '../../gpu/device/adapter.js'
import { isToken } from '../../protocol/bearer.js'
import { LIMITS } from '../../protocol/limits.js'
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from '../observe/log.js'

/** Everything that a user decides about a server. */
export interface Config {
  readonly directory: string
  readonly host: string
  readonly port: number
  readonly listen: string
  readonly token: string
  readonly tokens: string
  readonly allowUnauthenticated: boolean
  readonly tlsCert: string
  readonly tlsKey: string
  readonly adapter: AdapterChoice
  readonly snapshotLogBytes: number
  readonly payloadCacheBytes: number
  readonly deviceMemory: number
  readonly queryMemory: number
  /** 0 leaves it to the device. */
  readonly queryMemoryInAll: number
  readonly recalibrate: boolean
  readonly ioThreads: number
  readonly maxConnections: number
  readonly maxRequestsInFlight: number
  readonly maxRequestsInAll: number
  readonly maxBytesInFlight: number
  readonly maxBytesInAll: number
  readonly maxReplyBytes: number
  readonly maxReplyBytesInAll: number
  readonly handshakeSeconds: number
  readonly pingSeconds: number
  readonly stallSeconds: number
  readonly shutdownSeconds: number
  readonly logLevel: LogLevel
  readonly logFormat: LogFormat
  readonly backupDirectory: string
}

/** One setting: what it is for, how a value of it looks, and how one is recognised. */
export interface Setting<T> {
  readonly type: 'string' | 'number' | 'boolean'
  readonly description: string
  readonly fallback: T
  /** What a right value is, to end the sentence "it must be …". */
  readonly expected: string
  readonly accepts: (value: unknown) => value is T
}

const MIB = 2 ** 20
const MOST_BYTES = 2 ** 50
const DAY_SECONDS = 86_400

/** The settings by name. Flags are `--kebab-case`, environment variables `WARPDEX_UPPER_CASE`, a file's keys as here. */
export const SETTINGS: { readonly [K in keyof Config]: Setting<Config[K]> } = {
  directory: text('Folder that holds all data; made where it is missing', 'warpdex-data', 1),
  host: text('Address to listen on', '127.0.0.1', 1),
  port: whole('Port to listen on; 0 takes a free one', 7070, 0, 65535),
  listen: {
    type: 'string',
    description:
      'A Unix socket to listen on as well, unix:PATH; who may open it is for the modes of its folder to say',
    fallback: '',
    expected: 'empty, or unix: and the path of a socket of at most 100 bytes',
    accepts: (value): value is string =>
      typeof value === 'string' && /^(unix:.+)?$/s.test(value) && Buffer.byteLength(value) <= 105,
  },
  token: {
    type: 'string',
    description: 'Token with all rights; best set by the environment or the file, since others see flags',
    fallback: '',
    expected: 'empty, or 1 to 512 printable ASCII characters without blanks',
    accepts: (value): value is string => typeof value === 'string' && (value === '' || isToken(value)),
  },
  tokens: text('JSON file with tokens and their rights; "warpdex token" makes its entries', '', 0),
  allowUnauthenticated: flag('Listen on other addresses than this machine without a token'),
  tlsCert: text(
    'PEM file with the certificate, and those that vouch for it; the port speaks TLS only',
    '',
    0,
  ),
  tlsKey: text('PEM file with the key of the certificate', '', 0),
  adapter: choice('Adapter to compute on: auto prefers a GPU and falls back to software', 'auto', [
    'auto',
    'hardware',
    'software',
  ]),
  snapshotLogBytes: whole(
    'Bytes of write log of an index after which a snapshot of it is taken',
    256 * MIB,
    MIB,
    2 ** 50,
  ),
  payloadCacheBytes: whole('Bytes of payloads of kind bytes to keep in memory', 256 * MIB, MIB, 2 ** 50),
  deviceMemory: {
    type: 'number',
    description:
      'Bytes of device memory for indexes; those that do not fit wait in host memory. 0 sets no limit',
    fallback: 0,
    expected: `0 or a whole number from ${MIB} to ${2 ** 50}`,
    accepts: (value) => value === 0 || isWhole(value, MIB, 2 ** 50),
  },
  queryMemory: whole(
    'Bytes of device memory that one query may take beside its relations',
    LIMITS.queryDeviceBytes,
    MIB,
    MOST_BYTES,
  ),
  queryMemoryInAll: {
    type: 'number',
    description:
      "The same of all queries together, results that wait to be read included. 0 is twice that of one, or a quarter of this machine's memory where the adapter is software and that is less",
    fallback: 0,
    expected: `0 or a whole number from ${MIB} to ${MOST_BYTES}`,
    accepts: (value) => value === 0 || isWhole(value, MIB, MOST_BYTES),
  },
  ioThreads: whole(
    'Threads that listen beside that of the engine, one at most below Node 22.12; 0 does all in one',
    defaultIoThreads(),
    0,
    mostIoThreads(),
  ),
  recalibrate: flag('Measure the costs of traversal strategies and selections anew even if they are on disk'),
  maxConnections: whole('Clients at a time', LIMITS.connections, 1, 65_536),
  maxRequestsInFlight: whole(
    'Unanswered requests of a client',
    LIMITS.requestsInFlight,
    1,
    LIMITS.writeIdsPerClient - 1,
  ),
  maxRequestsInAll: whole('Unanswered requests of all clients', LIMITS.requestsInAll, 1, 2 ** 24),
  maxBytesInFlight: whole('Bytes of requests of a client', LIMITS.bytesInFlight, MIB, MOST_BYTES),
  maxBytesInAll: whole('Bytes of requests of all clients', LIMITS.bytesInAll, MIB, MOST_BYTES),
  maxReplyBytes: whole(
    'Bytes of replies that a client has not read',
    LIMITS.replyBytesQueued,
    LIMITS.frameBytes,
    MOST_BYTES,
  ),
  maxReplyBytesInAll: whole(
    'Bytes of replies that all clients have not read',
    LIMITS.replyBytesInAll,
    LIMITS.frameBytes,
    MOST_BYTES,
  ),
  handshakeSeconds: whole('Seconds for the opening of a connection', LIMITS.handshakeSeconds, 1, DAY_SECONDS),
  pingSeconds: whole('Seconds of silence before a client is asked', LIMITS.pingSeconds, 1, DAY_SECONDS),
  stallSeconds: whole(
    'Seconds for which a client may neither read nor send on',
    LIMITS.stallSeconds,
    1,
    DAY_SECONDS,
  ),
  shutdownSeconds: whole('Seconds that a stop may take', LIMITS.shutdownSeconds, 1, DAY_SECONDS),
  logLevel: choice('Least level of what is logged on standard error', 'info', LOG_LEVELS),
  logFormat: choice('Form of the log: lines for people, or a JSON object a line', 'text', LOG_FORMATS),
  backupDirectory: text('Folder in which clients may have backups made; empty lets them make none', '', 0),
}

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

function text(description: string, fallback: string, least: number): Setting<string> {
  return {
    type: 'string',
    description,
    fallback,
    expected: least === 0 ? 'a text' : 'a text that is not empty',
    accepts: (value): value is string => typeof value === 'string' && value.length >= least,
  }
}

function whole(description: string, fallback: number, least: number, most: number): Setting<number> {
  return {
    type: 'number',
    description,
    fallback,
    expected: `a whole number from ${least} to ${most}`,
    accepts: (value) => isWhole(value, least, most),
  }
}

function isWhole(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}

/** The name as flags have it. */
export function flagName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** The name as environment variables have it. */
export function variableName(name: string): string {
  return `WARPDEX_${flagName(name).replaceAll('-', '_').toUpperCase()}`
}
