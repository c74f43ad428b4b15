import { compareStrings } from '../../../gpu/relational/query/dictionaries.js'
import { getOrInsert } from '../../../protocol/get-or-insert.js'
import type { ColumnSample } from './column-sample.js'
import type { NodeColumn, Source } from './node-estimate.js'

/** Numbers of keys, the values that rows of a sample have in one column or several. */
export interface SampleKeys {
  /** For each row the number of its key; −1 where it has none. */
  readonly keys: Int32Array
  /** Numbers are below it. */
  readonly count: number
}

/** What a sample says of each key. */
export interface KeyTally {
  /** Rows of the sample that stand for some. */
  readonly sampled: Float64Array
  /** The node's rows that they stand for. */
  readonly rows: Float64Array
}

/** Numbers of both sides' keys: equal ones have the same number, those of one column in their order. */
export interface SharedKeys {
  readonly left: Int32Array
  readonly right: Int32Array
  /** Numbers are below it. */
  readonly count: number
}

/**
 * Numbers the keys of columns of one sample.
 * @param withNulls whether null is a value; rows that have one have no key otherwise
 */
export function sampleKeys(samples: readonly ColumnSample[], withNulls: boolean): SampleKeys {
  return samples
    .map(({ places, values }) => {
      if (!withNulls) return { keys: places, count: values.length }
      const keys = places.map((place) => (place < 0 ? values.length : place))
      return { keys, count: values.length + 1 }
    })
    .reduce(combined)
}

/** Counts rows by their keys. */
export function tallyOf({ keys, count }: SampleKeys, { weights }: Source): KeyTally {
  const [sampled, rows] = [new Float64Array(count), new Float64Array(count)]
  keys.forEach((key, row) => {
    if (key < 0 || weights[row] === 0) return
    sampled[key]!++
    rows[key]! += weights[row]!
  })
  return { sampled, rows }
}

/** Numbers the keys of two samples. */
export function shareKeys(left: readonly NodeColumn[], right: readonly NodeColumn[]): SharedKeys {
  const pairs = left.map((column, i) => shareColumn(column, right[i]!))
  if (pairs.length === 1) return pairs[0]!
  // Of several columns what differs is numbered over the rows of both, one behind the other.
  const split = pairs[0]!.left.length
  const { keys, count } = pairs
    .map(({ left, right, count }): SampleKeys => ({ keys: Int32Array.of(...left, ...right), count }))
    .reduce(combined)
  return { left: keys.subarray(0, split), right: keys.subarray(split), count }
}

function combined(left: SampleKeys, right: SampleKeys): SampleKeys {
  const numbers = new Map<number, number>()
  const keys = left.keys.map((key, row) => {
    const other = right.keys[row]!
    if (key < 0 || other < 0) return -1
    return getOrInsert(numbers, key * right.count + other, () => numbers.size)
  })
  return { keys, count: numbers.size }
}

function shareColumn(left: NodeColumn, right: NodeColumn): SharedKeys {
  const [l, r] = [left.from!.sample, right.from!.sample]
  if (left.type === 'string' && left.dictionary !== right.dictionary) {
    return shareValues([l, l.texts], [r, r.texts], compareStrings)
  }
  return shareValues([l, l.values], [r, r.values], (a, b) => (a < b ? -1 : a > b ? 1 : 0))
}

type Side<T> = readonly [sample: ColumnSample, ascending: ArrayLike<T>]

function shareValues<T>(
  [left, ls]: Side<T>,
  [right, rs]: Side<T>,
  compare: (a: T, b: T) => number,
): SharedKeys {
  const numbers = { left: new Int32Array(ls.length), right: new Int32Array(rs.length) }
  let [i, j, count] = [0, 0, 0]
  for (; i < ls.length || j < rs.length; count++) {
    const order = i === ls.length ? 1 : j === rs.length ? -1 : compare(ls[i]!, rs[j]!)
    if (order <= 0) numbers.left[i++] = count
    if (order >= 0) numbers.right[j++] = count
  }
  const keysOf = ({ places }: ColumnSample, own: Int32Array) =>
    places.map((place) => (place < 0 ? -1 : own[place]!))
  return { left: keysOf(left, numbers.left), right: keysOf(right, numbers.right), count }
}
