import { WarpdexError } from '../../protocol/errors.js'

/** Has something done when all is done that follows from what has happened, in every caller. */
export const afterThis: (run: () => void) => void =
  typeof setImmediate === 'function' ? setImmediate : setTimeout

/** A timer cannot wait longer. */
export const LONGEST_TIMEOUT = 2 ** 31 - 1

/** When a call ends at the latest: at a time (of `performance.now()`), or by a signal. */
export interface Bounds {
  readonly until: number
  readonly signal: AbortSignal | undefined
}

/** Of a call that waits for as long as it takes. */
export const UNBOUNDED: Bounds = { until: Number.POSITIVE_INFINITY, signal: undefined }

/** @param deadline in milliseconds from now; none by default */
export function toBounds(deadline = Number.POSITIVE_INFINITY, signal?: AbortSignal | undefined): Bounds {
  if (deadline === Number.POSITIVE_INFINITY && signal === undefined) return UNBOUNDED
  return { until: performance.now() + deadline, signal }
}

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
