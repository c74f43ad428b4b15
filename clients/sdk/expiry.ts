import { asBytes, type Column } from '../../protocol/columns.js'
import { badRequest } from '../../protocol/errors.js'
import { BY_TTL } from '../../protocol/expiry.js'
import { shown } from '../../protocol/shown.js'
import type { CallOptions, Kind, Kinds } from './call-options.js'

/** When what a call stores expires, in an index that was created with a `ttl`. */
export interface ExpiryOptions {
  /**
   * Milliseconds since 1970 by the server's clock, or 0 for never; by default the index's `ttl` after the server gets it. What is put again with 0 loses
   * the time that it had.
   */
  readonly expireAt?: number | undefined
}

export interface PutOptions extends CallOptions, ExpiryOptions {}

/** The same of many items. */
export interface ManyExpiryOptions {
  /** As of `ExpiryOptions`: one time for all items, or one for each, where `undefined` means the default. */
  readonly expireAt?: number | readonly (number | undefined)[] | Float64Array | undefined
}

const RIGHT = 'milliseconds since 1970, such as Date.now() + 60_000, or 0 for never'

export const EXPIRY_OPTIONS: Kinds<ExpiryOptions> = { expireAt: { is: isTime, right: RIGHT } }

export const EXPIRE_AT_MANY: Kind = {
  is: (value) => isTime(value) || value instanceof Float64Array || Array.isArray(value),
  right: `${RIGHT}; or a list of that, one for each item`,
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** Times of `count` items as a column; undefined where all have the default. @throws WarpdexError `BAD_REQUEST` */
export function expiryColumn(expireAt: ManyExpiryOptions['expireAt'], count: number): Column | undefined {
  if (expireAt === undefined) return undefined
  if (!EXPIRE_AT_MANY.is(expireAt))
    throw badRequest(`"expireAt" is ${EXPIRE_AT_MANY.right}, not ${shown(expireAt)}`)
  const column = new BigUint64Array(count)
  if (typeof expireAt === 'number') return { bytes: asBytes(column.fill(BigInt(expireAt))), width: 8 }
  if (expireAt.length !== count)
    throw badRequest(`${count} keys came with ${expireAt.length} times in "expireAt"; each has one`)
  if (expireAt.every((time) => time === undefined)) return undefined
  for (let i = 0; i < count; i++) {
    const time = expireAt[i]
    if (time !== undefined && !isTime(time))
      throw badRequest(`"expireAt" of item ${i} is ${RIGHT}, not ${String(time)}`)
    column[i] = time === undefined ? BY_TTL : BigInt(time)
  }
  return { bytes: asBytes(column), width: 8 }
}
