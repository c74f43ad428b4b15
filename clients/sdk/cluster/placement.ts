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

/** A range of keys as it travels. */
export interface Ends {
  readonly from?: Column | undefined
  readonly to?: Column | undefined
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
}

/** Where an index without one is, as relations are. */
const ON_FIRST: readonly PlacedRange[] = [{ set: 0 }]

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

  /** The number of the range that each key is in. */
  rangesOf(keys: Column): Uint16Array {
    const count = countOf(keys)
    const ranges = new Uint16Array(count)
    const isFrom = comparison(keys, this.#starts, this.#keyType)
    for (let i = 0; i < count; i++) {
      let low = 0
      let high = this.last
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if (isFrom(i, middle - 1)) low = middle
        else high = middle - 1
      }
      ranges[i] = low
    }
    return ranges
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

/** @returns whether key number i is not before start number j */
function comparison(
  keys: Column,
  starts: readonly Uint8Array[],
  keyType: KeyType,
): (i: number, j: number) => boolean {
  if (!isFixedKeyType(keyType)) return (i, j) => compareBytes(valueAt(keys, i), starts[j]!) >= 0
  if (keyType === 'u64' || keyType === 'i64') return wholeComparison(keys, starts, keyType)
  const Numbers = KEY_ARRAYS[keyType]
  const values = aligned<{ readonly [i: number]: number | bigint }>(keys.bytes, Numbers)
  const from = starts.map((start) => aligned<{ readonly [i: number]: number | bigint }>(start, Numbers)[0]!)
  return (i, j) => values[i]! >= from[j]!
}

/** By halves: single integers of 64 bits are objects, which take longer to make than to compare. */
function wholeComparison(keys: Column, starts: readonly Uint8Array[], keyType: 'u64' | 'i64') {
  const lower = aligned(keys.bytes, Uint32Array)
  const upper = keyType === 'u64' ? lower : aligned(keys.bytes, Int32Array)
  const from = starts.map((start) => {
    const view = new DataView(start.buffer, start.byteOffset, 8)
    const high = keyType === 'u64' ? view.getUint32(4, true) : view.getInt32(4, true)
    return { high, low: view.getUint32(0, true) }
  })
  return (i: number, j: number) => {
    const { high, low } = from[j]!
    const own = upper[2 * i + 1]!
    return own > high || (own === high && lower[2 * i]! >= low)
  }
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
    const isFrom = comparison(columnOfKeys([keys[i - 1]!], keyType), [keys[i]!], keyType)
    if (isFrom(0, 0))
      throw new WarpdexError('BAD_REQUEST', `splitAt has its keys in ascending order; key ${i} is not`)
  }
  return [undefined, ...keys].map((key, i) => {
    const set = (first + i) % sets
    return key === undefined ? { set } : { set, from: hexOf(key) }
  })
}
