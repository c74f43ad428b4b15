import { badRequest, type WarpdexError } from './errors.js'
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

/**
 * A value as keys of a type hold it, or undefined where they cannot. Whole numbers may be numbers also for types of 64 bits. Rounding is what
 * floats do; a finite number that becomes an infinity is another one.
 */
export function heldBy(type: FixedKeyType, value: unknown): number | bigint | undefined {
  if (type === 'u64' || type === 'i64') {
    const whole = Number.isSafeInteger(value) ? BigInt(Number(value)) : value
    if (typeof whole !== 'bigint') return undefined
    return (type === 'u64' ? BigInt.asUintN(64, whole) : BigInt.asIntN(64, whole)) === whole
      ? whole
      : undefined
  }
  if (typeof value !== 'number') return undefined
  if (type === 'u32') return value >>> 0 === value ? value : undefined
  if (type === 'i32') return (value | 0) === value ? value : undefined
  const becomesInfinite = type === 'f32' && Number.isFinite(value) && !Number.isFinite(Math.fround(value))
  return becomesInfinite ? undefined : value
}

/**
 * Single numbers as a column.
 *
 * @param unfit makes the error for the one at a place that the type cannot hold
 */
export function numberColumn(
  type: FixedKeyType,
  numbers: readonly unknown[],
  unfit: (i: number) => WarpdexError,
): KeyArray {
  const { BYTES_PER_ELEMENT } = KEY_ARRAYS[type]
  const column = aligned<KeyArray>(new Uint8Array(numbers.length * BYTES_PER_ELEMENT), KEY_ARRAYS[type])
  // What the type holds is what its array takes.
  const values: { [i: number]: number | bigint } = column
  for (let i = 0; i < numbers.length; i++) {
    const number = heldBy(type, numbers[i])
    if (number === undefined) throw unfit(i)
    values[i] = number
  }
  return column
}
