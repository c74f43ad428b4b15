import { asBytes, type Column, columnOf, concatenate, valuesOf } from '../../../../protocol/columns.js'
import { BY_TTL } from '../../../../protocol/expiry.js'
import type { Expiries } from '../../../../protocol/request-columns.js'
import type { Random } from '../../../random.js'

/** Bytes of a time. */
export const TIME_BYTES = 8
/** Of milliseconds around the present, in which entries are to expire. */
const PAST = 2000
const FUTURE = 90_000

/** When the items of a write expire: as a request says it, and what that comes to. */
interface KnownExpiries {
  readonly given: Expiries | undefined
  /** Milliseconds since 1970, 0 for never. */
  readonly times: readonly bigint[]
}

/** Times at random: for all what the index's `ttl` says, one time, or one an item. */
export function randomExpiries(random: Random, ttl: number, count: number, now: number): KnownExpiries {
  const usual = ttl === 0 ? 0n : BigInt(now + ttl * 1000)
  const form = random.pick(['usual', 'one', 'each'] as const)
  if (form === 'usual') return { given: undefined, times: new Array<bigint>(count).fill(usual) }
  const said = Array.from({ length: form === 'one' ? 1 : count }, () => randomTime(random, now))
  const known = said.filter((time) => time > 0n && time !== BY_TTL).map(Number)
  const settled = said.map((time) => (time === BY_TTL ? usual : time))
  return {
    given: {
      times: asBytes(BigUint64Array.from(said)),
      first: Math.min(Number.POSITIVE_INFINITY, ...known),
      byTtl: said.includes(BY_TTL),
    },
    times: Array.from({ length: count }, (_, i) => settled[form === 'one' ? 0 : i]!),
  }
}

function randomTime(random: Random, now: number): bigint {
  const kind = random.below(10)
  if (kind < 2) return 0n
  if (kind < 4) return BY_TTL
  return BigInt(kind < 5 ? now - random.below(PAST) : now + random.below(FUTURE))
}

/** Payloads as a model has them whose entries expire: each behind its time. */
export function withTimes(payloads: Column, times: readonly bigint[]): Column {
  const rows = valuesOf(payloads).map((payload, i) =>
    concatenate([asBytes(BigUint64Array.of(times[i]!)), payload]),
  )
  return columnOf(rows, TIME_BYTES + (payloads.width ?? 0))
}
