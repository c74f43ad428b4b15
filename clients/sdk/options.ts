import type { AbortSignalLike } from '../../protocol/abort-signal.js'
import { badRequest, type WarpdexError } from '../../protocol/errors.js'
import type { LoadResult } from '../../protocol/load.js'
import { titleOf } from '../../protocol/shown.js'
import {
  ALLOCATIONS,
  LAYOUTS,
  RESOLUTIONS,
  STRATEGIES,
  STRUCTURES,
  type Traversal,
  type TreeLayout,
} from '../../protocol/traversal.js'
import { parseTraversal, type TraversalOptions } from '../../protocol/traversal-options.js'
import type { IndexDefinition, InsertMode, KeyType, PayloadKind } from '../../protocol/types.js'
import {
  ANYTHING,
  BYTES,
  CALL_OPTIONS,
  CALLBACK,
  type CallOptions,
  checkOptions,
  FLAG,
  type Kind,
  type Kinds,
  LONGEST_TIMEOUT,
  NUMBER,
  oneOf,
  TEXT,
} from './call-options.js'
import { EXPIRE_AT_MANY, EXPIRY_OPTIONS, type ManyExpiryOptions, type PutOptions } from './expiry.js'
import type { Keys } from './keys.js'
import type { PayloadsInput, PayloadToStore } from './payload-column.js'
import { READ_AT_OPTIONS, type ReadAtOptions } from './snapshot.js'

/**
 * Options of a call that finds keys. `strategy` and `resolution` say how, in an index that has partitions where they need some;
 * the server thinks best where they are absent. The answer is the same in any case.
 */
export interface FindOptions extends CallOptions, TraversalOptions {}

export const FIND_OPTIONS: Kinds<FindOptions> = {
  strategy: oneOf(STRATEGIES),
  resolution: oneOf(RESOLUTIONS),
  ...CALL_OPTIONS,
}

/** @throws WarpdexError `BAD_REQUEST` for what does not go together */
export function traversalOf(options: TraversalOptions): Traversal | undefined {
  const isNamed = options.strategy !== undefined || options.resolution !== undefined
  return isNamed ? parseTraversal(options) : undefined
}

/** Options of a call that creates something; with `ifNotExists` an equal one that is there already is right. */
export interface CreateOptions extends CallOptions {
  readonly ifNotExists?: boolean | undefined
}

export const CREATE_OPTIONS: Kinds<CreateOptions> = { ifNotExists: FLAG, ...CALL_OPTIONS }

export interface CreateIndexOptions<K extends KeyType> extends CreateOptions {
  /**
   * In a cluster of several replica sets: keys, in ascending order, with which the next replica set begins. Without them the index is on one,
   * chosen by its name. A server alone has all keys.
   */
  readonly splitAt?: Keys<K> | undefined
}

export const CREATE_INDEX_OPTIONS: Kinds<CreateIndexOptions<KeyType>> = {
  splitAt: ANYTHING,
  ...CREATE_OPTIONS,
}

/** Options of a call that drops something; with `ifExists` it is right that it is not there. */
export interface DropOptions extends CallOptions {
  readonly ifExists?: boolean | undefined
}

export const DROP_OPTIONS: Kinds<DropOptions> = { ifExists: FLAG, ...CALL_OPTIONS }

/**
 * How to come back after a lost connection. Delays are in milliseconds and double from attempt to attempt, less a random part of up to a
 * half. Calls that wait meanwhile end by their own deadlines and signals. A server that refuses the token ends the attempts in any case.
 */
export interface ReconnectOptions {
  /** Attempts, one after the other, before the client gives up and closes; 0 for none. By default it never gives up (`Infinity`). */
  readonly attempts: number
  /** Before the first attempt; 50 by default. */
  readonly firstDelay: number
  /** The longest one; 5000 by default. */
  readonly maxDelay: number
}

export const DEFAULT_RECONNECT: ReconnectOptions = {
  attempts: Number.POSITIVE_INFINITY,
  firstDelay: 50,
  maxDelay: 5000,
}

/** Options of a client. */
export interface ConnectOptions {
  /** What the server knows the client by, where it demands a token. */
  readonly token?: string | undefined
  /**
   * Certificates in PEM form that vouch for a server at `wss://`, in place of those that Node trusts. Browsers trust what their
   * user tells them to, and do not look at this.
   */
  readonly ca?: string | Uint8Array | undefined
  /**
   * Milliseconds for one attempt to connect, and for a sign of life of a server that has been silent for 2 seconds while calls wait for it; 10
   * seconds by default, 3 where there are several nodes. Browsers, which see large replies only as a whole, wait for a minute at least.
   */
  readonly connectTimeout?: number | undefined
  /** Deadline in milliseconds of the calls that name none; none by default. */
  readonly deadline?: number | undefined
  /** Only after the first connection, which is attempted once. */
  readonly reconnect?: Partial<ReconnectOptions> | undefined
  /**
   * Of a replica set: `any` reads what the node has that the client is connected to, which may be behind the owner; by default reads go to the owner.
   * A write goes to the owner in any case, and the client with it.
   */
  readonly reads?: 'latest' | 'any' | undefined
  /** Of a cluster of several replica sets: the one that is meant, by its number, instead of all. */
  readonly set?: number | undefined
  /** Called when the connection is lost, before the first attempt to come back. */
  readonly onDisconnect?: ((reason: WarpdexError) => void) | undefined
  /** Called when the connection is there again; what can be sent again is sent after this. */
  readonly onReconnect?: (() => void) | undefined
}

const MILLISECONDS: Kind = {
  is: (value) => NUMBER.is(value) && Number(value) <= LONGEST_TIMEOUT,
  right: `a number of milliseconds from 0 to ${LONGEST_TIMEOUT}`,
}

const RECONNECT_OPTIONS: Kinds<ReconnectOptions> = {
  attempts: NUMBER,
  firstDelay: MILLISECONDS,
  maxDelay: MILLISECONDS,
}

const CONNECT_OPTIONS: Kinds<ConnectOptions> = {
  token: TEXT,
  ca: { is: (value) => TEXT.is(value) || BYTES.is(value), right: 'certificates in PEM form' },
  connectTimeout: MILLISECONDS,
  deadline: NUMBER,
  reconnect: ANYTHING,
  reads: { is: (value) => value === 'latest' || value === 'any', right: '"latest" or "any"' },
  set: NUMBER,
  onDisconnect: CALLBACK,
  onReconnect: CALLBACK,
}

/**
 * Refuses what is no option of a connection, or no text as its address; whether it is one, the socket says.
 *
 * @throws WarpdexError `BAD_REQUEST`
 */
export function checkConnect(url: unknown, options: ConnectOptions): void {
  const urls = [url].flat()
  if (urls.length === 0 || !urls.every((each) => typeof each === 'string')) {
    const message = `connect takes the address of a server, such as "ws://127.0.0.1:7070", not ${titleOf(url)}`
    throw badRequest(message)
  }
  checkOptions(options, CONNECT_OPTIONS, 'connect')
  if (options.reconnect !== undefined) checkOptions(options.reconnect, RECONNECT_OPTIONS, 'connect.reconnect')
}

/** Options of a get of many keys. */
export interface GetManyOptions extends FindOptions, ReadAtOptions {
  /** Whether the result has `sequences`, from which `getNextMany` goes on. */
  readonly sequences?: boolean | undefined
}

export const GET_MANY_OPTIONS: Kinds<GetManyOptions> = {
  sequences: FLAG,
  ...FIND_OPTIONS,
  ...READ_AT_OPTIONS,
}

/** Options of a getNext. */
export interface NextOptions extends ReadAtOptions {
  readonly reverse?: boolean | undefined
  /** The search continues within the payloads of the key, after that one. */
  readonly sequence?: number | undefined
}

export const NEXT_OPTIONS: Kinds<NextOptions> = {
  reverse: FLAG,
  sequence: {
    is: (value) => typeof value === 'number' && value >>> 0 === value,
    right: 'a sequence number, which an entry from getNext has',
  },
  ...READ_AT_OPTIONS,
}

export interface NextManyOptions extends FindOptions, ReadAtOptions {
  readonly reverse?: boolean | undefined
  /** One a key: the search continues within the payloads of the key, after that one. */
  readonly sequences?: Uint32Array | undefined
}

const SEQUENCES: Kind = {
  is: (value) => value instanceof Uint32Array,
  right: 'a Uint32Array of a sequence number for each key',
}

export const NEXT_MANY_OPTIONS: Kinds<NextManyOptions> = {
  reverse: FLAG,
  sequences: SEQUENCES,
  ...FIND_OPTIONS,
  ...READ_AT_OPTIONS,
}

/**
 * What becomes of a payload whose key is there already: `add` puts it behind those that the key has, unless the index is unique; `keep`
 * leaves the key as it is; `replace` puts it in the place of all that the key has.
 */
export type IfExists = 'add' | 'keep' | 'replace'

/** How requests say it. */
export const MODES: { readonly [What in IfExists]: InsertMode } = {
  add: 'append',
  keep: 'ifAbsent',
  replace: 'replace',
}

export interface LoadOptions extends CallOptions {
  /** `add` by default. */
  readonly ifExists?: IfExists | undefined
  /** Told of all that is durable so far, every few megabytes. What it throws ends the load. */
  readonly onProgress?: ((stored: LoadResult) => void) | undefined
  /** Milliseconds for each part of the load, a few megabytes, from sending it to its being durable. */
  readonly deadline?: number | undefined
  /** Aborting it ends the load with `CANCELLED`, once the parts that are under way are stored. */
  readonly signal?: AbortSignalLike | undefined
}

export const LOAD_OPTIONS: Kinds<LoadOptions> = {
  ifExists: oneOf(Object.keys(MODES)),
  onProgress: CALLBACK,
  ...CALL_OPTIONS,
}

/** Options of an insert. */
export interface InsertOptions extends PutOptions {
  /** `add` by default; with `error` a key that is there stays as it is, and the call fails with `KEY_EXISTS`. What overwrites is called `put`. */
  readonly ifExists?: 'add' | 'keep' | 'error' | undefined
}

export const PUT_OPTIONS: Kinds<PutOptions> = { ...EXPIRY_OPTIONS, ...CALL_OPTIONS }

export const INSERT_OPTIONS: Kinds<InsertOptions> = {
  ifExists: oneOf(['add', 'keep', 'error']),
  ...PUT_OPTIONS,
}

export interface PutManyOptions extends FindOptions, ManyExpiryOptions {}

export const PUT_MANY_OPTIONS: Kinds<PutManyOptions> = { expireAt: EXPIRE_AT_MANY, ...FIND_OPTIONS }

export interface InsertManyOptions extends PutManyOptions {
  /** `add` by default. What overwrites is called `putMany`. */
  readonly ifExists?: 'add' | 'keep' | undefined
}

export const INSERT_MANY_OPTIONS: Kinds<InsertManyOptions> = {
  ifExists: oneOf(['add', 'keep']),
  ...PUT_MANY_OPTIONS,
}

/** Options of a delete. */
export interface DeleteOptions<P extends PayloadKind> extends CallOptions {
  /** Only those that equal it are deleted. */
  readonly payload?: PayloadToStore<P> | undefined
}

export const DELETE_OPTIONS: Kinds<DeleteOptions<PayloadKind>> = { payload: ANYTHING, ...CALL_OPTIONS }

export interface DeleteManyOptions<P extends PayloadKind> extends FindOptions {
  /** One a key: only those that equal it are deleted. */
  readonly payloads?: PayloadsInput<P> | undefined
}

export const DELETE_MANY_OPTIONS: Kinds<DeleteManyOptions<PayloadKind>> = {
  payloads: ANYTHING,
  ...FIND_OPTIONS,
}

const LAYOUT_OPTIONS: Kinds<TreeLayout> = {
  structure: oneOf(STRUCTURES),
  layout: oneOf(LAYOUTS),
  allocation: oneOf(ALLOCATIONS),
  partitionLevels: {
    is: (value) => value === 'auto' || value === 'none' || typeof value === 'number',
    right: 'auto, none or a number of levels',
  },
  linked: FLAG,
}

/** What a definition, or options, say of the layout. */
export function layoutOf(given: TreeLayout): TreeLayout {
  const { structure, layout, allocation, partitionLevels, linked } = given
  return { structure, layout, allocation, partitionLevels, linked }
}

/** What a caller says of an index to be made. */
export const DEFINITION_FIELDS: Kinds<IndexDefinition> = {
  name: TEXT,
  keyType: TEXT,
  payloadKind: TEXT,
  unique: FLAG,
  ttl: NUMBER,
  ...LAYOUT_OPTIONS,
  placement: ANYTHING,
  of: {
    is: () => false,
    right: 'of no index that takes writes; relation(name).createIndex makes one over columns of a relation',
  },
}

export const RELATION_INDEX_OPTIONS: Kinds<CreateOptions & TreeLayout> = {
  ...CREATE_OPTIONS,
  ...LAYOUT_OPTIONS,
}

/** What an index was created as, out of what the server says of it. */
export function definitionOf(index: IndexDefinition): IndexDefinition {
  const names = Object.keys(DEFINITION_FIELDS)
  const fields = Object.entries(index).filter(([name]) => names.includes(name))
  // What is left out are figures.
  return Object.fromEntries(fields) as unknown as IndexDefinition
}
