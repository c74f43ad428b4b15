import { aligned, type Column, countOf, KEY_ARRAYS, valueAt } from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import {
  type IndexDefinition,
  isFixedKeyType,
  type KeyType,
  keyWidth,
  type PlacedRange,
  SEQUENCE_BYTES,
} from '../../../protocol/types.js'
import { itemsByRange } from './items.js'
import { partition, type RangeItems } from './partition.js'

/** A range of keys as it travels. */
export interface Ends {
  readonly from?: Column | undefined
  readonly to?: Column | undefined
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
}

/** Where an index without one is, as relations are. */
export const ON_FIRST: readonly PlacedRange[] = [{ set: 0 }]

/** Where the keys of an index are: ranges in ascending order, each on a replica set of its own. */
export class Placement {
  /** The replica set of each range. */
  readonly sets: readonly number[]
  readonly #keyType: KeyType
  /** First keys of all ranges but the first. */
  readonly #starts: readonly Uint8Array[]

  constructor({ keyType, placement = ON_FIRST }: IndexDefinition) {
    this.sets = placement.map(({ set }) => set)
    this.#keyType = keyType
    this.#starts = placement.slice(1).map(({ from = '' }) => bytesOfHex(from))
  }

  /** Number of the last range. */
  get last(): number {
    return this.sets.length - 1
  }

  /** The items of a call in each range, by their keys. */
  itemsOf(keys: Column): readonly RangeItems[] {
    const items = partition(keys, this.#starts, this.#keyType)
    return items ?? itemsByRange(this.rangesOf(keys), this.sets.length)
  }

  /** The number of the range that each key is in. */
  rangesOf(keys: Column): Uint16Array {
    return ranksOf(keys, this.#starts, this.#keyType)
  }

  /**
   * The part of a range of keys that is in one of the ranges here; undefined where there is none.
   * @param ends of one range of keys, and whether they belong to it
   */
  clip(number: number, ends: Ends): Ends | undefined {
    const { from, to } = ends
    const first = from === undefined ? -1 : this.rangesOf(from)[0]!
    const last = to === undefined ? this.sets.length : this.rangesOf(to)[0]!
    if (first > number || last < number) return undefined
    const [start, end] = [this.#starts[number - 1], this.#starts[number]]
    return {
      ...ends,
      ...(first < number &&
        start !== undefined && { from: columnOfKeys([start], this.#keyType), fromExclusive: false }),
      ...(last > number &&
        end !== undefined && { to: columnOfKeys([end], this.#keyType), toExclusive: true }),
    }
  }

  /** The number of the range that each token of a scan is in. */
  rangesOfTokens(tokens: Column): Uint16Array {
    const keys = Array.from({ length: countOf(tokens) }, (_, i) => {
      const token = valueAt(tokens, i)
      return token.subarray(0, Math.max(0, token.length - SEQUENCE_BYTES))
    })
    return this.rangesOf(columnOfKeys(keys, this.#keyType))
  }
}

/** How many of some keys, which ascend, each key is not before. */
function ranksOf(keys: Column, starts: readonly Uint8Array[], keyType: KeyType): Uint16Array {
  if (keyType === 'u64' || keyType === 'i64') return ranksOfWholes(keys, starts, keyType)
  if (isFixedKeyType(keyType)) return ranksOfNumbers(keys, starts, keyType)
  return Uint16Array.from({ length: countOf(keys) }, (_, i) => {
    const key = valueAt(keys, i)
    return starts.findLastIndex((start) => compareBytes(key, start) >= 0) + 1
  })
}

// Among scattered keys a processor would guess half of the branches wrongly: they are searched for without any.

function ranksOfNumbers(
  keys: Column,
  starts: readonly Uint8Array[],
  keyType: 'u32' | 'i32' | 'f32' | 'f64',
): Uint16Array {
  const numbersOf = (bytes: Uint8Array) => aligned<ArrayLike<number>>(bytes, KEY_ARRAYS[keyType])
  const bounds = bisected(starts.map((start) => numbersOf(start)[0]!))
  const values = numbersOf(keys.bytes)
  const ranks = new Uint16Array(values.length)
  for (let i = 0; i < ranks.length; i++) {
    const value = values[i]!
    let rank = 0
    for (let step = (bounds.length + 1) >> 1; step > 0; step >>= 1)
      rank += step * Number(value >= bounds[rank + step - 1]!)
    ranks[i] = rank
  }
  return ranks
}

/** By halves: single integers of 64 bits are objects, which take longer to make than to compare. */
function ranksOfWholes(keys: Column, starts: readonly Uint8Array[], keyType: 'u64' | 'i64'): Uint16Array {
  const upperOf = (bytes: Uint8Array) =>
    aligned<ArrayLike<number>>(bytes, keyType === 'u64' ? Uint32Array : Int32Array)
  const uppers = bisected(starts.map((start) => upperOf(start)[1]!))
  const lowers = bisected(starts.map((start) => aligned(start, Uint32Array)[0]!))
  const upper = upperOf(keys.bytes)
  const lower = aligned(keys.bytes, Uint32Array)
  const ranks = new Uint16Array(lower.length / 2)
  for (let i = 0; i < ranks.length; i++) {
    const [low, high] = [lower[2 * i]!, upper[2 * i + 1]!]
    let rank = 0
    for (let step = (uppers.length + 1) >> 1; step > 0; step >>= 1) {
      const at = rank + step - 1
      const bound = uppers[at]!
      rank += step * (Number(high > bound) | (Number(high === bound) & Number(low >= lowers[at]!)))
    }
    ranks[i] = rank
  }
  return ranks
}

/** Numbers to be halved again and again until one is left: one less than a power of two, with such behind them that no number is as large as. */
function bisected(numbers: readonly number[]): Float64Array {
  const bounds = new Float64Array(2 ** Math.ceil(Math.log2(numbers.length + 1)) - 1).fill(Number.NaN)
  bounds.set(numbers)
  return bounds
}

function compareBytes(one: Uint8Array, other: Uint8Array): number {
  const length = Math.min(one.length, other.length)
  for (let i = 0; i < length; i++) {
    const difference = one[i]! - other[i]!
    if (difference !== 0) return difference
  }
  return one.length - other.length
}

/** Keys as a column of their type. */
function columnOfKeys(keys: readonly Uint8Array[], keyType: KeyType): Column {
  const offsets = new Uint32Array(keys.length + 1)
  keys.forEach((key, i) => {
    offsets[i + 1] = offsets[i]! + key.length
  })
  const bytes = new Uint8Array(offsets[keys.length]!)
  keys.forEach((key, i) => {
    bytes.set(key, offsets[i])
  })
  const width = keyWidth(keyType)
  return width === undefined ? { bytes, offsets } : { bytes, width }
}

function bytesOfHex(text: string): Uint8Array {
  const digits = text.match(/../g) ?? []
  return Uint8Array.from(digits, (pair) => Number.parseInt(pair, 16))
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/**
 * A placement by the keys with which ranges begin, which go to one replica set after the other.
 * @param first replica set of the first range
 * @param sets how many there are
 * @throws WarpdexError `BAD_REQUEST` for keys that do not ascend, or more ranges than replica sets
 */
export function placementBy(
  starts: Column,
  keyType: KeyType,
  first: number,
  sets: number,
): readonly PlacedRange[] {
  const count = countOf(starts)
  if (count >= sets) {
    const most = `${sets} replica sets take ${sets - 1} keys to split at`
    throw new WarpdexError('BAD_REQUEST', `${most}, not ${count}`)
  }
  const keys = Array.from({ length: count }, (_, i) => valueAt(starts, i))
  for (let i = 1; i < count; i++) {
    const [rank] = ranksOf(columnOfKeys([keys[i - 1]!], keyType), [keys[i]!], keyType)
    if (rank === 1)
      throw new WarpdexError('BAD_REQUEST', `splitAt has its keys in ascending order; key ${i} is not`)
  }
  return [undefined, ...keys].map((key, i) => {
    const set = (first + i) % sets
    return key === undefined ? { set } : { set, from: hexOf(key) }
  })
}

/** Where an index that is whole goes, so that they spread over the replica sets. */
export function setByName(name: string, sets: number): number {
  let hash = 0
  for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) >>> 0
  return hash % sets
}
