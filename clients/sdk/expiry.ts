import { asBytes, type Column } from '../../protocol/columns.js'
import { badRequest } from '../../protocol/errors.js'
import type { CallOptions, Kind } from './call-options.js'

/** When what a call stores expires, in an index that was created with a `ttl`. */
export interface ExpiryOptions {
  /** Milliseconds since 1970 by the server's clock, or 0 for never; by default the index's `ttl` after the server gets it. */
  readonly expireAt?: number | undefined
}

export interface PutOptions extends CallOptions, ExpiryOptions {}

/** The same of many items. */
export interface ManyExpiryOptions {
  /** As of `ExpiryOptions`: one time for all items, or one for each. */
  readonly expireAt?: number | readonly number[] | Float64Array | undefined
}

const RIGHT = 'milliseconds since 1970, such as Date.now() + 60_000, or 0 for never'

export const EXPIRE_AT: Kind = { is: isTime, right: RIGHT }

export const EXPIRE_AT_MANY: Kind = {
  is: (value) => isTime(value) || value instanceof Float64Array || Array.isArray(value),
  right: `${RIGHT}; or a list of that, one for each item`,
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** Times of `count` items as a column; undefined where none are given. @throws WarpdexError `BAD_REQUEST` */
export function expiryColumn(expireAt: ManyExpiryOptions['expireAt'], count: number): Column | undefined {
  if (expireAt === undefined) return undefined
  const times = typeof expireAt === 'number' ? [expireAt] : expireAt
  if (typeof expireAt !== 'number' && times.length !== count)
    throw badRequest(`${count} keys came with ${times.length} times in "expireAt"; each has one`)
  const column = new BigUint64Array(count)
  for (let i = 0; i < times.length; i++) {
    const time = times[i]
    if (!isTime(time)) throw badRequest(`"expireAt" of item ${i} is ${RIGHT}, not ${String(time)}`)
    column[i] = BigInt(time)
  }
  if (typeof expireAt === 'number') column.fill(BigInt(expireAt))
  return { bytes: asBytes(column), width: 8 }
}
