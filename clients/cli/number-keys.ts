import { badRequest } from '../../protocol/errors.js'
import { quotedText } from '../../protocol/shown.js'
import type { FixedKeyType, ScalarKeyType } from '../../protocol/types.js'

const RANGES = {
  u32: [0n, 2n ** 32n - 1n],
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  u64: [0n, 2n ** 64n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
} as const

type WholeType = keyof typeof RANGES

const WHOLE = /^[+-]?\d+$/
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
const INFINITE = /^[+-]?infinity$/i

/**
 * A number as people write it: a whole one, or for floats a decimal one or Infinity.
 * @throws WarpdexError `BAD_REQUEST` that says what is right
 */
export function parseNumber(text: string, type: FixedKeyType, what: string): number | bigint {
  return type === 'f32' || type === 'f64' ? parseFloatKey(text, type, what) : parseWhole(text, type, what)
}

/** @throws WarpdexError `BAD_REQUEST` */
export function parseWhole(text: string, type: WholeType, what: string): number | bigint {
  const [least, most] = RANGES[type]
  const expected = `${what} is a whole number from ${least} to ${most} (${type})`
  if (!WHOLE.test(text)) {
    const kind = DECIMAL.test(text) ? 'whole number' : 'number'
    throw badRequest(`${quotedText(text)} is not a ${kind}; ${expected}`)
  }
  const value = BigInt(text.replace(/^\+/, ''))
  if (value < least || value > most) {
    throw badRequest(`${quotedText(text)} is out of range; ${expected}`)
  }
  return type === 'u32' || type === 'i32' ? Number(value) : value
}

function parseFloatKey(text: string, type: 'f32' | 'f64', what: string): number {
  if (INFINITE.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  if (!DECIMAL.test(text)) {
    const reason = /^[+-]?nan$/i.test(text)
      ? 'NaN has no place in an order'
      : `${quotedText(text)} is not a number`
    throw badRequest(`${reason}; ${what} is a number such as -1.5, 2e9 or Infinity (${type})`)
  }
  const value = type === 'f32' ? Math.fround(Number(text)) : Number(text)
  if (Number.isFinite(value)) return value
  throw badRequest(`${quotedText(text)} is out of range; ${what} is a finite ${type}, or Infinity`)
}

/** A number as the shortest text that is read as the same number. */
export function showNumber(value: number | bigint, type: ScalarKeyType): string {
  return type === 'f32' ? shortestFloat(Number(value)) : String(value)
}

/** A number as JSON: a number, or a text where JSON's numbers cannot hold it. */
export function numberAsJson(value: number | bigint, type: ScalarKeyType): number | string {
  const text = showNumber(value, type)
  return typeof value === 'bigint' || !Number.isFinite(value) ? text : Number(text)
}

/** Nine digits tell all numbers of 32 bits apart, and most need fewer. */
function shortestFloat(value: number): string {
  for (let digits = 1; digits <= 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return String(short)
  }
  return String(value)
}
