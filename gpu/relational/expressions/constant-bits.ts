import type { ValueType } from '../../../protocol/query/tree.js'

/** The words of a constant as a column would have them; 0 for none. */
export function constantBits(value: bigint | number | boolean | null, type: ValueType): bigint {
  if (value === null || type === 'string') return 0n
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (type === 'f32') return BigInt(floatBits(Number(value)))
  return BigInt.asUintN(type === 'i32' || type === 'u32' ? 32 : 64, BigInt(value))
}

/** As `ordered_float` has it (values.wesl). */
export function orderedFloat(value: number): bigint {
  if (Number.isNaN(value)) return 0xffffffffn
  const bits = floatBits(value === 0 ? 0 : value)
  return BigInt((bits & SIGN) !== 0 ? ~bits >>> 0 : (bits | SIGN) >>> 0)
}

const SIGN = 1 << 31

function floatBits(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0]!
}
