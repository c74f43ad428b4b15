import type { AdapterChoice } from '../../gpu/device/adapter.js'

/** Everything that a user decides about a server. */
export interface Config {
  readonly directory: string
  readonly host: string
  readonly port: number
  readonly token: string
  readonly allowUnauthenticated: boolean
  readonly adapter: AdapterChoice
  readonly snapshotLogBytes: number
  readonly payloadCacheBytes: number
  readonly deviceMemory: number
  readonly recalibrate: boolean
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

/** The settings by name. Flags are `--kebab-case`, environment variables `WARPDEX_UPPER_CASE`, a file's keys as here. */
export const SETTINGS: { readonly [K in keyof Config]: Setting<Config[K]> } = {
  directory: text('Folder that holds all data; made where it is missing', 'warpdex-data', 1),
  host: text('Address to listen on', '127.0.0.1', 1),
  port: whole('Port to listen on; 0 takes a free one', 7070, 0, 65535),
  token: text('Secret that clients must send; empty asks for none', '', 0),
  allowUnauthenticated: flag('Listen on other addresses than this machine without a token'),
  adapter: {
    type: 'string',
    description: 'Adapter to compute on: auto prefers a GPU and falls back to software',
    fallback: 'auto',
    expected: 'auto, hardware or software',
    accepts: (value) => value === 'auto' || value === 'hardware' || value === 'software',
  },
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
  recalibrate: flag("Measure the traversal strategies' costs anew even if they are on disk"),
  backupDirectory: text('Folder in which clients may have backups made; empty lets them make none', '', 0),
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
