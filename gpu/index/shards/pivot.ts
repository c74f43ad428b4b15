import {
  aligned,
  type Column,
  KEY_ARRAYS,
  type KeyArray,
  pickValues,
  valuesOf,
} from '../../../protocol/columns.js'
import { isFixedKeyType, type KeyType } from '../../../protocol/types.js'

/** Most keys of a sample. */
const SAMPLE = 256

/**
 * A key that cuts some of a batch's keys about in half: of a sample that which is nearest to the middle, and has lesser ones before it.
 * @param numbers of those keys in the batch
 * @returns undefined where all keys of the sample are the same, or no numbers
 */
export function pivotOf(keyType: KeyType, keys: Column, numbers: Uint32Array): Uint8Array | undefined {
  const sampled = Math.min(SAMPLE, numbers.length)
  const numberOf = (_: unknown, i: number) => numbers[Math.floor((i * numbers.length) / sampled)]
  const sample = pickValues(keys, Uint32Array.from({ length: sampled }, numberOf))
  const compare = comparison(keyType)
  const sorted = valuesOf(sample)
    .filter((key) => compare(key, key) === 0)
    .sort(compare)
  const half = Math.floor(sampled / 2)
  let pivot: number | undefined
  for (let i = 1; i < sorted.length; i++) {
    const isNearer = pivot === undefined || Math.abs(i - half) < Math.abs(pivot - half)
    if (isNearer && compare(sorted[i - 1], sorted[i]) < 0) pivot = i
  }
  return pivot === undefined ? undefined : sorted[pivot].slice()
}

/** The order of keys as they are on the wire; what is no number does not even equal itself. */
function comparison(keyType: KeyType): (a: Uint8Array, b: Uint8Array) => number {
  if (!isFixedKeyType(keyType)) return Buffer.compare
  const numberIn = (key: Uint8Array) => aligned<KeyArray>(key, KEY_ARRAYS[keyType])[0]
  return (a, b) => {
    const [left, right] = [numberIn(a), numberIn(b)]
    if (left === right) return 0
    return left < right ? -1 : 1
  }
}
