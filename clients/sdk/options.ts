import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { titleOf } from '../../protocol/shown.js'
import { RESOLUTIONS, STRATEGIES } from '../../protocol/traversal.js'
import type { TraversalOptions } from '../../protocol/traversal-options.js'
import {
  ANYTHING,
  BYTES,
  CALLBACK,
  checkOptions,
  FLAG,
  type Kind,
  type Kinds,
  NUMBER,
  oneOf,
  TEXT,
} from './check-options.js'

/** Options of every call. */
export interface CallOptions {
  /** Milliseconds after which the call fails with `DEADLINE_EXCEEDED`; none by default. */
  readonly deadline?: number | undefined
  /** Aborting it makes the call fail with `CANCELLED`. */
  readonly signal?: AbortSignal | undefined
}

/** What can be aborted, also of another realm. */
const SIGNAL: Kind = {
  is: (value) =>
    typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value,
  right: 'an AbortSignal, which an AbortController has',
}

export const CALL_OPTIONS: Kinds<CallOptions> = { deadline: NUMBER, signal: SIGNAL }

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

/** Options of a call that creates something; with `ifNotExists` an equal one that is there already is right. */
export interface CreateOptions extends CallOptions {
  readonly ifNotExists?: boolean | undefined
}

export const CREATE_OPTIONS: Kinds<CreateOptions> = { ifNotExists: FLAG, ...CALL_OPTIONS }

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
  /** Milliseconds for one attempt to connect; 10 seconds by default. */
  readonly connectTimeout?: number | undefined
  /** Deadline in milliseconds of the calls that name none; none by default. */
  readonly deadline?: number | undefined
  /** Only after the first connection, which is attempted once. */
  readonly reconnect?: Partial<ReconnectOptions> | undefined
  /** Called when the connection is lost, before the first attempt to come back. */
  readonly onDisconnect?: ((reason: WarpdexError) => void) | undefined
  /** Called when the connection is there again; what can be sent again is sent after this. */
  readonly onReconnect?: (() => void) | undefined
}

/** A timer cannot wait longer. */
const LONGEST_TIMEOUT = 2 ** 31 - 1

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
  onDisconnect: CALLBACK,
  onReconnect: CALLBACK,
}

/**
 * Refuses what is no option of a connection, or no text as its address; whether it is one, the socket says.
 *
 * @throws WarpdexError `BAD_REQUEST`
 */
export function checkConnect(url: unknown, options: ConnectOptions): void {
  if (typeof url !== 'string') {
    const message = `connect takes the address of a server, such as "ws://127.0.0.1:7070", not ${titleOf(url)}`
    throw badRequest(message)
  }
  checkOptions(options, CONNECT_OPTIONS, 'connect')
  if (options.reconnect !== undefined) checkOptions(options.reconnect, RECONNECT_OPTIONS, 'connect.reconnect')
}

/** When a call ends at the latest: at a time (of `performance.now()`), or by a signal. */
export interface Bounds {
  readonly until: number
  readonly signal: AbortSignal | undefined
}

/** Of a call that waits for as long as it takes. */
const UNBOUNDED: Bounds = { until: Number.POSITIVE_INFINITY, signal: undefined }

export function toBounds({ deadline = Number.POSITIVE_INFINITY, signal }: CallOptions): Bounds {
  if (deadline === Number.POSITIVE_INFINITY && signal === undefined) return UNBOUNDED
  return { until: performance.now() + deadline, signal }
}

/** What a request says of the time that is left for it: 0 where that is longer than it can say. */
export function millisecondsLeft({ until }: Bounds): number {
  const left = Math.ceil(until - performance.now())
  return left > 0xffff_ffff ? 0 : Math.max(left, 1)
}

/**
 * A promise that ends within its bounds.
 *
 * @param start begins the work; not called when a bound is reached already
 * @param abandon ends the work when a bound is reached first
 */
export function withinBounds<T>(
  bounds: Bounds,
  start: (resolve: (value: T) => void, reject: (reason: unknown) => void) => void,
  abandon: () => void,
): Promise<T> {
  if (bounds === UNBOUNDED) return new Promise(start)
  const { until, signal } = bounds
  const remaining = until - performance.now()
  if (signal?.aborted) return Promise.reject(cancelled())
  if (remaining <= 0) return Promise.reject(exceeded())
  return new Promise((resolve, reject) => {
    const giveUp = (reason: WarpdexError) => {
      release()
      abandon()
      reject(reason)
    }
    const onAbort = () => giveUp(cancelled())
    const timer =
      remaining <= LONGEST_TIMEOUT ? setTimeout(() => giveUp(exceeded()), Math.ceil(remaining)) : undefined
    const release = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
    signal?.addEventListener('abort', onAbort)
    const fail = (reason: unknown) => {
      release()
      reject(reason)
    }
    try {
      start((value) => {
        release()
        resolve(value)
      }, fail)
    } catch (thrown) {
      fail(thrown)
    }
  })
}

function cancelled(): WarpdexError {
  return new WarpdexError('CANCELLED', 'the call was cancelled')
}

function exceeded(): WarpdexError {
  return new WarpdexError('DEADLINE_EXCEEDED', 'the call was not answered before its deadline')
}
