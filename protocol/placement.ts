import { badRequest } from './errors.js'
import { LIMITS } from './limits.js'
import type { PlacedRange } from './types.js'

/**
 * Where the keys of an index are: on which replica sets of a cluster.
 * @throws WarpdexError `BAD_REQUEST`
 */
export function parsePlacement(value: unknown): readonly PlacedRange[] | undefined {
  if (value === undefined || value === null) return undefined
  const ranges = Array.isArray(value) && value.length > 0 ? value.map(parseRange) : []
  const isWhole = ranges.length > 0 && ranges.every(({ from }, i) => (from === undefined) === (i === 0))
  const sets = new Set(ranges.map(({ set }) => set))
  if (isWhole && sets.size === ranges.length) return ranges
  throw badRequest(
    'placement is a list of ranges {set, from} in ascending order, each on another replica set; only the first has no from',
  )
}

function parseRange(value: unknown): PlacedRange {
  const { set, from } = Object(value)
  const isSet = Number.isInteger(set) && set >= 0 && set < LIMITS.replicaSets
  const isKey =
    typeof from === 'string' && /^(?:[0-9a-f]{2})*$/.test(from) && from.length <= 2 * LIMITS.keyBytes
  if (!isSet || (from !== undefined && !isKey)) {
    throw badRequest(
      `a range of a placement has a set from 0 to ${LIMITS.replicaSets - 1}, and from, a key in hexadecimal digits`,
    )
  }
  return from === undefined ? { set } : { set, from }
}
