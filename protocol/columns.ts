import { badRequest } from './errors.js'
import type { FixedKeyType } from './types.js'

/** The typed array that holds keys of each fixed-width type. */
export interface KeyArrays {
  u32: Uint32Array
  i32: Int32Array
  f32: Float32Array
  u64: BigUint64Array
  i64: BigInt64Array
  f64: Float64Array
}

export type KeyArray = KeyArrays[FixedKeyType]

export interface ColumnConstructor<T> {
  readonly name: string
  readonly BYTES_PER_ELEMENT: number
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): T
}

/** Constructors of the typed arrays that hold keys of fixed width. */
export const KEY_ARRAYS: { readonly [Type in FixedKeyType]: ColumnConstructor<KeyArrays[Type]> } = {
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
  f64: Float64Array,
}

/**
 * The bytes as a typed array: a view where they are aligned to its elements, else a copy. Columns are little-endian, and so
 * is every platform that runs JavaScript engines today.
 *
 * @throws WarpdexError `BAD_REQUEST` when the length is not a whole number of elements
 */
export function aligned<T>(bytes: Uint8Array, Column: ColumnConstructor<T>): T {
  const width = Column.BYTES_PER_ELEMENT
  if (bytes.byteLength % width !== 0) {
    throw badRequest(`a column of ${bytes.byteLength} bytes is no multiple of ${width}`)
  }
  const source = bytes.byteOffset % width === 0 ? bytes : new Uint8Array(bytes)
  return new Column(source.buffer, source.byteOffset, source.byteLength / width)
}

/** The memory of a typed array as bytes, without a copy. */
export function asBytes(column: ArrayBufferView): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
}
