import { INTEGER_RANGES } from '../../../protocol/query/constants.js'
import type { ValueType } from '../../../protocol/query/tree.js'

const SIGN = 0x80000000
/** The number of NaN, the largest of a float. */
export const NOT_A_NUMBER = 0xffffffffn

const float = new Float32Array(1)
const floatWord = new Uint32Array(float.buffer)

/** The words of a constant as a column would have them; 0 for none. */
export function constantBits(value: bigint | number | boolean | null, type: ValueType): bigint {
  if (value === null || type === 'string') return 0n
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (type === 'f32') return BigInt(floatBits(Number(value)))
  return BigInt.asUintN(type === 'i32' || type === 'u32' ? 32 : 64, BigInt(value))
}

/**
 * A value that is no string as an unsigned number whose order is that of the values. Both zeros are one, and NaN is the largest: as
 * `ordered-float.wesl` has it.
 */
export function orderedNumber(value: bigint | number | boolean, type: ValueType): bigint {
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (type !== 'f32') return BigInt(value) - leastOf(type)
  const number = Number(value)
  if (Number.isNaN(number)) return NOT_A_NUMBER
  const bits = floatBits(number === 0 ? 0 : number)
  return BigInt((bits & SIGN) !== 0 ? ~bits >>> 0 : (bits | SIGN) >>> 0)
}

/** The value that a number of `orderedNumber` stands for. */
export function restoredNumber(
  ordered: bigint,
  type: Exclude<ValueType, 'string'>,
): bigint | number | boolean {
  if (type === 'boolean') return ordered !== 0n
  if (type !== 'f32') return ordered + leastOf(type)
  const word = Number(ordered)
  floatWord[0] = (word & SIGN) !== 0 ? word ^ SIGN : ~word
  return float[0]!
}

/** What is taken from an integer of a type to have it in order as an unsigned number. */
function leastOf(type: ValueType): bigint {
  return INTEGER_RANGES[type]?.[0] ?? 0n
}

function floatBits(value: number): number {
  float[0] = value
  return floatWord[0]!
}
