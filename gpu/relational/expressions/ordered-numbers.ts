import { type ColumnType, columnWords, storageOf } from '../../../protocol/column-types.js'
import { INTEGER_RANGES } from '../../../protocol/query/integer-ranges.js'

/** Where floats lie in their order as unsigned numbers, as `ordered-float.wesl` has it: the greatest is NaN. */
export interface FloatOrder {
  readonly minusInfinity: bigint
  /** Of both zeros. −0 would lie right below it. */
  readonly zero: bigint
  readonly infinity: bigint
  readonly notANumber: bigint
}

const FLOATS = {
  f32: { minusInfinity: 0x007fffffn, zero: 1n << 31n, infinity: 0xff800000n, notANumber: 2n ** 32n - 1n },
  f64: {
    minusInfinity: 2n ** 52n - 1n,
    zero: 1n << 63n,
    infinity: 0xfffn << 52n,
    notANumber: 2n ** 64n - 1n,
  },
} as const

const bytes = new DataView(new ArrayBuffer(8))

/** The order of a type of floats; undefined for other types. */
export function floatOrder(type: ColumnType): FloatOrder | undefined {
  return type === 'f32' || type === 'f64' ? FLOATS[type] : undefined
}

/** The words of a constant as a column would have them; 0 for none. */
export function constantBits(value: bigint | number | boolean | null, type: ColumnType): bigint {
  if (value === null || type === 'string') return 0n
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (type === 'f32' || type === 'f64') return floatBits(Number(value), type)
  return BigInt.asUintN(32 * columnWords(type), BigInt(value))
}

/**
 * A value that is no string as an unsigned number whose order is that of the values. Both zeros are one, and NaN is the largest: as
 * `ordered-float.wesl` has it.
 */
export function orderedNumber(value: bigint | number | boolean, type: ColumnType): bigint {
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (type !== 'f32' && type !== 'f64') return BigInt(value) - leastOf(type)
  const { zero, notANumber } = FLOATS[type]
  const number = Number(value)
  if (Number.isNaN(number)) return notANumber
  const bits = floatBits(number === 0 ? 0 : number, type)
  return (bits & zero) === 0n ? bits | zero : notANumber - bits
}

/** The value that a number of `orderedNumber` stands for. */
export function restoredNumber(
  ordered: bigint,
  type: Exclude<ColumnType, 'string'>,
): bigint | number | boolean {
  if (type === 'boolean') return ordered !== 0n
  if (type !== 'f32' && type !== 'f64') return ordered + leastOf(type)
  const { zero, notANumber } = FLOATS[type]
  const bits = (ordered & zero) === 0n ? notANumber - ordered : ordered ^ zero
  if (type === 'f64') {
    bytes.setBigUint64(0, bits)
    return bytes.getFloat64(0)
  }
  bytes.setUint32(0, Number(bits))
  return bytes.getFloat32(0)
}

/** What is taken from an integer of a type to have it in order as an unsigned number. */
function leastOf(type: ColumnType): bigint {
  return INTEGER_RANGES[storageOf(type)]?.[0] ?? 0n
}

function floatBits(value: number, type: 'f32' | 'f64'): bigint {
  if (type === 'f64') {
    bytes.setFloat64(0, value)
    return bytes.getBigUint64(0)
  }
  bytes.setFloat32(0, value)
  return BigInt(bytes.getUint32(0))
}
