import { readFileSync } from 'node:fs'
import { badRequest, toWarpdexError } from '../../protocol/errors.js'
import { type Config, flagName, SETTINGS, type Setting, variableName } from './settings.js'
import { parseSize } from './size.js'

/** Names the configuration file. It is no setting, so that a file cannot name another. */
const FILE_VARIABLE = 'WARPDEX_CONFIG'

/** Read by the commands that are clients, so that a server must not mind them. */
const CLIENT_VARIABLES = ['WARPDEX_URL', 'WARPDEX_CA']

/**
 * What Kubernetes sets in every pod for a Service: `WARPDEX_PORT=tcp://10.0.0.1:7070` for one named `warpdex`, and others, of which the
 * names tell.
 */
const SERVICE_LINK_NAME = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/
const SERVICE_LINK_VALUE = /^(tcp|udp|sctp):\/\//

export interface ConfigSources {
  /** Flags by setting name; those that are undefined were not given. */
  readonly flags?: Readonly<Record<string, unknown>>
  /** Path of a JSON file with settings. */
  readonly file?: string | undefined
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Told of variables that do not count. Others than whoever starts the server set some of them. */
  readonly onWarning?: (message: string) => void
}

interface Source {
  readonly kind: string
  /** By setting name. */
  readonly given: Readonly<Record<string, unknown>>
  /** A setting as the user wrote it. */
  readonly shownAs: (name: string) => string
  /** Whether a text may stand for a number or a boolean. */
  readonly texts: boolean
}

/**
 * The configuration out of flags, environment, file and defaults; an earlier one of them wins. Unknown variables are warned of: the
 * environment is shared with others.
 * @throws WarpdexError `BAD_REQUEST` that names the setting that is unknown or has a wrong value, and what would be right
 */
export function loadConfig(given: ConfigSources = {}): Config {
  const { flags = {}, file, environment = {}, onWarning = () => {} } = given
  const sources = [flagSource(flags), environmentSource(environment, onWarning)]
  const path = file ?? environment[FILE_VARIABLE]
  if (path !== undefined) sources.push(fileSource(path))
  for (const source of sources) refuseUnknown(source)
  const names = Object.keys(SETTINGS) as (keyof Config)[]
  const settled = names.map((name) => [name, pickSetting(name, sources)])
  // Each value was accepted by the setting of its name.
  return Object.fromEntries(settled) as Config
}

function flagSource(given: Readonly<Record<string, unknown>>): Source {
  return { kind: 'flag', given, shownAs: (name) => `--${flagName(name)}`, texts: true }
}

function environmentSource(
  environment: Readonly<Record<string, string | undefined>>,
  onWarning: (message: string) => void,
): Source {
  const settings = new Map(Object.keys(SETTINGS).map((name) => [variableName(name), name]))
  const given: Record<string, string> = {}
  const links: string[] = []
  const unknown: string[] = []
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith('WARPDEX_') || value === undefined) continue
    if (name === FILE_VARIABLE || CLIENT_VARIABLES.includes(name)) continue
    const setting = settings.get(name)
    if (isServiceLink(name, value)) links.push(name)
    else if (setting === undefined) unknown.push(name)
    else given[setting] = value
  }
  if (links.length > 0) {
    onWarning(
      `ignored ${links.join(', ')}, which Kubernetes sets for a Service; enableServiceLinks: false in the pod's spec keeps them away`,
    )
  }
  if (unknown.length > 0) {
    onWarning(
      `ignored ${unknown.join(', ')}, which the server does not know; "warpdex serve --help" names those that it knows`,
    )
  }
  return { kind: 'environment variable', given, shownAs: variableName, texts: true }
}

/** A value tells only where the name could be a Service's: a token may look as it likes. */
function isServiceLink(name: string, value: string): boolean {
  return SERVICE_LINK_NAME.test(name) || (name.endsWith('_PORT') && SERVICE_LINK_VALUE.test(value))
}

function fileSource(path: string): Source {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (thrown) {
    const { message } = toWarpdexError(thrown)
    throw badRequest(`the configuration file ${path} cannot be read: ${message}`)
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw badRequest(`the configuration file ${path} must hold one JSON object`)
  }
  return { kind: `setting in ${path}`, given: { ...content }, shownAs: (name) => name, texts: false }
}

function refuseUnknown({ kind, given, shownAs }: Source): void {
  const names = Object.keys(SETTINGS)
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown === undefined) return
  throw badRequest(`unknown ${kind} ${unknown}; use one of ${names.map(shownAs).join(', ')}`)
}

function pickSetting<K extends keyof Config>(name: K, sources: readonly Source[]): Config[K] {
  const setting = SETTINGS[name]
  for (const { kind, given, shownAs, texts } of sources) {
    const value = given[name]
    if (value === undefined) continue
    const isSize = setting.type === 'bytes'
    const meant = typeof value === 'string' && (texts || isSize) ? fromText(setting.type, value) : value
    if (setting.accepts(meant)) return meant
    const shown = name === 'token' ? '' : ` is ${JSON.stringify(value)}; it`
    throw badRequest(`the ${kind} ${shownAs(name)}${shown} must be ${setting.expected}`)
  }
  return setting.fallback
}

function fromText(type: Setting<unknown>['type'], text: string): unknown {
  if (type === 'bytes') return parseSize(text) ?? text
  if (type === 'number' && /^\d+$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
