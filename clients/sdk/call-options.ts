import type { AbortSignalLike } from '../../protocol/abort-signal.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { shown, titleOf } from '../../protocol/shown.js'

/** What the value of an option may be; what follows from other values is checked where it is known. */
export interface Kind {
  readonly is: (value: unknown) => boolean
  /** In words. */
  readonly right: string
}

/** What every option of a type may be: one that is added to the type and not here does not compile. */
export type Kinds<T> = { readonly [Name in keyof Required<T>]: Kind }

export const ANYTHING: Kind = { is: () => true, right: 'a value' }
export const TEXT: Kind = { is: (value) => typeof value === 'string', right: 'a text' }
export const FLAG: Kind = { is: (value) => typeof value === 'boolean', right: 'true or false' }
export const CALLBACK: Kind = { is: (value) => typeof value === 'function', right: 'a function' }
export const BYTES: Kind = { is: (value) => value instanceof Uint8Array, right: 'a Uint8Array' }
export const NUMBER: Kind = {
  is: (value) => typeof value === 'number' && value >= 0,
  right: 'a number from 0',
}
export const TEXTS: Kind = {
  is: (value) => Array.isArray(value) && value.every((element) => typeof element === 'string'),
  right: 'a list of texts',
}

export function oneOf(choices: readonly string[]): Kind {
  return {
    is: (value) => typeof value === 'string' && choices.includes(value),
    right: `one of ${choices.join(', ')}`,
  }
}

/**
 * Refuses what a caller misspelt, which would be ignored else, and values of another kind. Inherited properties count, since they would be
 * read like others.
 *
 * @param what has the options, such as `get`
 * @throws WarpdexError `BAD_REQUEST` that names what is right
 */
export function checkOptions<T extends object>(
  options: T,
  kinds: Kinds<T>,
  what: string,
  word: 'option' | 'field' = 'option',
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const names = Object.keys(kinds).join(', ')
    throw badRequest(`${word}s of ${what} come as an object with any of ${names}, not as ${shown(options)}`)
  }
  for (const name in options) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined
    if (kind === undefined) {
      throw badRequest(`${what} has no ${word} ${shown(name)}; it has ${Object.keys(kinds).join(', ')}`)
    }
    const value: unknown = options[name]
    if (value === undefined || kind.is(value)) continue
    throw badRequest(`${word} "${name}" of ${what} is ${kind.right}, not ${shown(value)}`)
  }
}

/**
 * @param what takes the name
 * @param of what it is the name of, such as `an index`
 * @throws WarpdexError `BAD_REQUEST` for what is no text
 */
export function checkName(name: unknown, what: string, of: string): void {
  if (typeof name === 'string') return
  throw badRequest(`${what} takes the name of ${of}, such as "orders", not ${titleOf(name)}`)
}

/** Options of every call. */
export interface CallOptions {
  /** Milliseconds after which the call fails with `DEADLINE_EXCEEDED`; none by default. */
  readonly deadline?: number | undefined
  /** Aborting it makes the call fail with `CANCELLED`. */
  readonly signal?: AbortSignalLike | undefined
}

/** What can be aborted, also of another realm. */
const SIGNAL: Kind = {
  is: (value) =>
    typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value,
  right: 'an AbortSignal, which an AbortController has',
}

export const CALL_OPTIONS: Kinds<CallOptions> = { deadline: NUMBER, signal: SIGNAL }

/** Has something done when all is done that follows from what has happened, in every caller. */
export const afterThis: (run: () => void) => void =
  typeof setImmediate === 'function' ? setImmediate : setTimeout

/** A timer cannot wait longer. */
export const LONGEST_TIMEOUT = 2 ** 31 - 1

/** When a call ends at the latest: at a time (of `performance.now()`), or by a signal. */
export interface Bounds {
  readonly until: number
  readonly signal: AbortSignalLike | undefined
}

/** Of a call that waits for as long as it takes. */
export const UNBOUNDED: Bounds = { until: Number.POSITIVE_INFINITY, signal: undefined }

/** What a request says of the time that is left for it: 0 where that is longer than it can say. */
export function millisecondsLeft({ until }: Bounds): number {
  if (until === Number.POSITIVE_INFINITY) return 0
  const left = Math.ceil(until - performance.now())
  return left > 0xffff_ffff ? 0 : Math.max(left, 1)
}

/**
 * A promise that ends within its bounds.
 *
 * @param start begins the work; not called when a bound is reached already
 * @param abandon ends the work when a bound is reached first, where that is of use
 */
export function withinBounds<T>(
  bounds: Bounds,
  start: (resolve: (value: T) => void, reject: (reason: unknown) => void) => void,
  abandon?: () => void,
): Promise<T> {
  if (bounds === UNBOUNDED) return new Promise(start)
  const { until, signal } = bounds
  const remaining = until - performance.now()
  if (signal?.aborted) return Promise.reject(cancelled())
  if (remaining <= 0) return Promise.reject(exceeded())
  return new Promise((resolve, reject) => {
    const giveUp = (reason: WarpdexError) => {
      release()
      abandon?.()
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
