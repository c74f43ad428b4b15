import { readFileSync } from 'node:fs'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { type Config, flagName, SETTINGS, type Setting, variableName } from './settings.js'

/** Names the configuration file. It is no setting, so that a file cannot name another. */
const FILE_VARIABLE = 'WARPDEX_CONFIG'

/** Read by the commands that are clients, so that a server must not mind them. */
const CLIENT_VARIABLES = ['WARPDEX_URL', 'WARPDEX_CA']

export interface ConfigSources {
  /** Flags by setting name; those that are undefined were not given. */
  readonly flags?: Readonly<Record<string, unknown>>
  /** Path of a JSON file with settings. */
  readonly file?: string | undefined
  readonly environment?: Readonly<Record<string, string | undefined>>
}

interface Source {
  readonly kind: string
  readonly given: Readonly<Record<string, unknown>>
  /** A setting's key in `given`. */
  readonly keyOf: (name: string) => string
  /** A setting as the user wrote it. */
  readonly shownAs: (name: string) => string
  /** Whether a text may stand for a number or a boolean. */
  readonly texts: boolean
}

/**
 * The configuration out of flags, environment, file and defaults; an earlier one of them wins.
 * @throws WarpdexError `BAD_REQUEST` that names the setting that is unknown or has a wrong value, and what would be right
 */
export function loadConfig({ flags = {}, file, environment = {} }: ConfigSources = {}): Config {
  const sources = [flagSource(flags), environmentSource(environment)]
  const path = file ?? environment[FILE_VARIABLE]
  if (path !== undefined) sources.push(fileSource(path))
  for (const source of sources) refuseUnknown(source)
  const pick = <K extends keyof Config>(name: K): Config[K] => pickSetting(name, sources)
  return {
    directory: pick('directory'),
    host: pick('host'),
    port: pick('port'),
    token: pick('token'),
    tokens: pick('tokens'),
    allowUnauthenticated: pick('allowUnauthenticated'),
    tlsCert: pick('tlsCert'),
    tlsKey: pick('tlsKey'),
    adapter: pick('adapter'),
    snapshotLogBytes: pick('snapshotLogBytes'),
    payloadCacheBytes: pick('payloadCacheBytes'),
    deviceMemory: pick('deviceMemory'),
    queryMemory: pick('queryMemory'),
    queryMemoryInAll: pick('queryMemoryInAll'),
    recalibrate: pick('recalibrate'),
    ioThreads: pick('ioThreads'),
    maxConnections: pick('maxConnections'),
    maxRequestsInFlight: pick('maxRequestsInFlight'),
    maxRequestsInAll: pick('maxRequestsInAll'),
    maxBytesInFlight: pick('maxBytesInFlight'),
    maxBytesInAll: pick('maxBytesInAll'),
    maxReplyBytes: pick('maxReplyBytes'),
    maxReplyBytesInAll: pick('maxReplyBytesInAll'),
    handshakeSeconds: pick('handshakeSeconds'),
    pingSeconds: pick('pingSeconds'),
    stallSeconds: pick('stallSeconds'),
    shutdownSeconds: pick('shutdownSeconds'),
    logLevel: pick('logLevel'),
    logFormat: pick('logFormat'),
    backupDirectory: pick('backupDirectory'),
  }
}

function flagSource(given: Readonly<Record<string, unknown>>): Source {
  return { kind: 'flag', given, keyOf: same, shownAs: (name) => `--${flagName(name)}`, texts: true }
}

function environmentSource(environment: Readonly<Record<string, string | undefined>>): Source {
  const given = Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) => name.startsWith('WARPDEX_') && name !== FILE_VARIABLE && !CLIENT_VARIABLES.includes(name),
    ),
  )
  return { kind: 'environment variable', given, keyOf: variableName, shownAs: variableName, texts: true }
}

function fileSource(path: string): Source {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (thrown) {
    const { message } = toWarpdexError(thrown)
    throw new WarpdexError('BAD_REQUEST', `the configuration file ${path} cannot be read: ${message}`)
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new WarpdexError('BAD_REQUEST', `the configuration file ${path} must hold one JSON object`)
  }
  return { kind: `setting in ${path}`, given: { ...content }, keyOf: same, shownAs: same, texts: false }
}

function same(name: string): string {
  return name
}

function refuseUnknown({ kind, given, keyOf, shownAs }: Source): void {
  const names = Object.keys(SETTINGS)
  for (const key of Object.keys(given)) {
    if (names.some((name) => keyOf(name) === key)) continue
    const valid = names.map(shownAs).join(', ')
    throw new WarpdexError('BAD_REQUEST', `unknown ${kind} ${key}; use one of ${valid}`)
  }
}

function pickSetting<K extends keyof Config>(name: K, sources: readonly Source[]): Config[K] {
  const setting = SETTINGS[name]
  for (const { kind, given, keyOf, shownAs, texts } of sources) {
    const value = given[keyOf(name)]
    if (value === undefined) continue
    const meant = texts && typeof value === 'string' ? fromText(setting.type, value) : value
    if (setting.accepts(meant)) return meant
    const shown = name === 'token' ? '' : ` is ${JSON.stringify(value)}; it`
    throw new WarpdexError('BAD_REQUEST', `the ${kind} ${shownAs(name)}${shown} must be ${setting.expected}`)
  }
  return setting.fallback
}

function fromText(type: Setting<unknown>['type'], text: string): unknown {
  if (type === 'number' && /^\d+$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
