import { compareStrings } from '../../../gpu/relational/query/dictionaries.js'
import type { ColumnSample } from './column-sample.js'
import type { NodeColumn, Source } from './node-estimate.js'
import { tuplePlaces } from './tuple-places.js'

/** One side of a match by equal keys. */
export interface KeySide {
  readonly source: Source
  /** For each row of the sample the number of its key; −1 where it has none. Both sides have the same numbers, in the order of keys of one column. */
  readonly keys: Int32Array
  /** Different keys among the rows that there are. */
  readonly distinct: number
}

/** Numbers of both sides' keys. */
export interface SharedKeys {
  readonly left: Int32Array
  readonly right: Int32Array
  /** Numbers are below it. */
  readonly count: number
}

/** Numbers the keys of two samples so that equal ones have the same number. */
export function shareKeys(left: readonly NodeColumn[], right: readonly NodeColumn[]): SharedKeys {
  const pairs = left.map((column, i) => shareColumn(column, right[i]!))
  const [first] = pairs
  if (pairs.length === 1 && first !== undefined) return first
  // Of several columns what differs is numbered over the rows of both, one behind the other.
  const samples = pairs.map(({ left, right, count }) => {
    const places = new Int32Array(left.length + right.length)
    places.set(left)
    places.set(right, left.length)
    return { places, values: { length: count } }
  })
  const { places, count } = tuplePlaces(samples, false)
  const split = first?.left.length ?? 0
  return { left: places.subarray(0, split), right: places.subarray(split), count }
}

function shareColumn(left: NodeColumn, right: NodeColumn): SharedKeys {
  const [l, r] = [left.from!.sample, right.from!.sample]
  if (left.type === 'string' && left.dictionary !== right.dictionary) {
    return shareValues(l, r, textsOf(l), textsOf(r), compareStrings)
  }
  return shareValues(l, r, l.values, r.values, (a, b) => (a < b ? -1 : a > b ? 1 : 0))
}

function textsOf(sample: ColumnSample): string[] {
  return Array.from(sample.values, (value) => sample.textOf(value))
}

/** @param ls the left sample's values, ascending, as `rs` the right one's */
function shareValues<T>(
  left: ColumnSample,
  right: ColumnSample,
  ls: ArrayLike<T>,
  rs: ArrayLike<T>,
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
