import { badRequest } from './errors.js'

const SPREADS = ['rows', 'copies'] as const

/** How a relation is spread over the replica sets of a cluster: each row is on one of them, or all rows on each. */
export type Spread = (typeof SPREADS)[number]

/** @throws WarpdexError `BAD_REQUEST` */
export function parseSpread(value: unknown): Spread | undefined {
  const spread = SPREADS.find((each) => each === value)
  if (spread !== undefined || value === undefined) return spread
  throw badRequest(`"spread" of a relation is one of ${SPREADS.join(', ')}`)
}
