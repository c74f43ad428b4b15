/** Neighbouring values, both ends included, as unsigned numbers in the order of what they stand for. */
export interface Interval {
  readonly low: bigint
  readonly high: bigint
}

/** Which values of a column satisfy a condition: disjoint intervals, ascending and not touching, and perhaps null. */
export interface ValueSet {
  readonly intervals: readonly Interval[]
  readonly nulls: boolean
}

/** No value, and no null. */
export const NOTHING: ValueSet = { intervals: [], nulls: false }

/** Null and nothing else. */
export const NULLS: ValueSet = { intervals: [], nulls: true }

/** The values from one number to another, both included; none where the first is the larger. */
export function between(low: bigint, high: bigint): ValueSet {
  return low > high ? NOTHING : { intervals: [{ low, high }], nulls: false }
}

export function isEmpty({ intervals, nulls }: ValueSet): boolean {
  return intervals.length === 0 && !nulls
}

/** The values of a list, which may be in any order and repeat. */
export function setOf(values: Iterable<bigint>): ValueSet {
  const intervals: { low: bigint; high: bigint }[] = []
  for (const value of BigUint64Array.from(values).sort()) {
    const last = intervals.at(-1)
    if (last !== undefined && value <= last.high + 1n) last.high = value
    else intervals.push({ low: value, high: value })
  }
  return { intervals, nulls: false }
}

/** What is in some of the sets. Takes as long as sorting all of their intervals, and a third of that where these are single values. */
export function unionOf(sets: readonly ValueSet[]): ValueSet {
  const nulls = sets.some((set) => set.nulls)
  const all = sets.flatMap((set) => set.intervals)
  if (all.every(({ low, high }) => low === high)) return { ...setOf(all.map(({ low }) => low)), nulls }
  all.sort((a, b) => (a.low < b.low ? -1 : a.low > b.low ? 1 : 0))
  const intervals: Interval[] = []
  for (const { low, high } of all) {
    const last = intervals.at(-1)
    if (last === undefined || low > last.high + 1n) intervals.push({ low, high })
    else if (high > last.high) intervals[intervals.length - 1] = { low: last.low, high }
  }
  return { intervals, nulls }
}

/**
 * What is in all of the sets, of which there is one at least.
 * @param last the largest number that stands for a value; below 0 where there are none
 */
export function intersectionOf(sets: readonly ValueSet[], last: bigint): ValueSet {
  if (sets.length === 1) return sets[0]!
  const outside = unionOf(sets.map((set) => complement(set, last)))
  return complement(outside, last)
}

/** What is not in the set: of the values up to `last`, and null. */
export function complement(set: ValueSet, last: bigint): ValueSet {
  const intervals: Interval[] = []
  let next = 0n
  for (const { low, high } of set.intervals) {
    if (low > next) intervals.push({ low: next, high: low - 1n })
    next = high + 1n
  }
  if (next <= last) intervals.push({ low: next, high: last })
  return { intervals, nulls: !set.nulls }
}

export function withoutNulls(set: ValueSet): ValueSet {
  return set.nulls ? { intervals: set.intervals, nulls: false } : set
}

export function areEqual(a: ValueSet, b: ValueSet): boolean {
  return a === b || (isWithin(a, b) && isWithin(b, a))
}

/** Whether all that is in `part` is in `whole`. */
export function isWithin(part: ValueSet, whole: ValueSet): boolean {
  if (part.nulls && !whole.nulls) return false
  let j = 0
  for (const { low, high } of part.intervals) {
    while (j < whole.intervals.length && whole.intervals[j]!.high < low) j++
    const around = whole.intervals[j]
    if (around === undefined || around.low > low || around.high < high) return false
  }
  return true
}
