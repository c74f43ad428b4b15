import type { KeyRange } from '../sdk/index.js'

/** The ends of a range as abstract-level names them, encoded. Where both of a side are given, the inclusive one counts. */
export interface KeyBounds {
  readonly gt?: Uint8Array
  readonly gte?: Uint8Array
  readonly lt?: Uint8Array
  readonly lte?: Uint8Array
}

/** A range of keys of kind bytes. */
export type BytesRange = Omit<KeyRange<'bytes'>, 'prefix'>

export function rangeOf({ gt, gte, lt, lte }: KeyBounds): BytesRange {
  return {
    from: gte ?? gt,
    to: lte ?? lt,
    fromExclusive: gte === undefined && gt !== undefined,
    toExclusive: lte === undefined && lt !== undefined,
  }
}

/** Whether a key lies in a range. */
export function isWithin(key: Uint8Array, { from, to, fromExclusive, toExclusive }: BytesRange): boolean {
  if (from !== undefined && compareKeys(key, from) < (fromExclusive ? 1 : 0)) return false
  return to === undefined || compareKeys(to, key) >= (toExclusive ? 1 : 0)
}

/** −1, 0 or 1, in the order of their bytes. */
export function compareKeys(a: Uint8Array, b: Uint8Array): number {
  const shorter = Math.min(a.length, b.length)
  let i = 0
  while (i < shorter && a[i] === b[i]) i++
  return Math.sign(i < shorter ? a[i] - b[i] : a.length - b.length)
}
