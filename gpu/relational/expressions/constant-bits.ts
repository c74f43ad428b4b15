import type { ValueType } from '../../../protocol/query/tree.js'

/** The words of a constant as a column would have them; 0 for none. */
export function constantBits(value: bigint | number | boolean | null, type: ValueType): bigint {
  if (value === null || type === 'string') return 0n
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (type === 'f32') return BigInt(floatBits(Number(value)))
  return BigInt.asUintN(type === 'i32' || type === 'u32' ? 32 : 64, BigInt(value))
}

/** The place of a constant in the order of its type: all values as unsigned numbers. */
export function placeOf(value: bigint | number | boolean, type: ValueType): bigint {
  if (type === 'f32') return orderedFloat(Number(value))
  const sign = type === 'i32' ? 1n << 31n : type === 'i64' ? 1n << 63n : 0n
  return constantBits(value, type) ^ sign
}

/** As `ordered_float` has it. */
function orderedFloat(value: number): bigint {
  if (Number.isNaN(value)) return 0xffffffffn
  const bits = floatBits(value === 0 ? 0 : value)
  return BigInt((bits & SIGN) !== 0 ? ~bits >>> 0 : (bits | SIGN) >>> 0)
}

const SIGN = 1 << 31

function floatBits(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0]!
}
