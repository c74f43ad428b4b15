import { WarpdexError } from '../../protocol/errors.js'
import type { IndexDefinition, KeyType } from '../../protocol/types.js'

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
 * A key as people write it: a whole number, or for floats a decimal one or Infinity.
 * @throws WarpdexError `BAD_REQUEST` that names what the index's keys are
 */
export function parseKey(text: string, { keyType, name }: IndexDefinition): number | bigint {
  const what = `a key of index ${JSON.stringify(name)}`
  if (keyType === 'f32' || keyType === 'f64') return parseFloatKey(text, keyType, what)
  return parseWhole(text, keyType, what)
}

/** @throws WarpdexError `BAD_REQUEST` */
export function parseWhole(text: string, type: WholeType, what: string): number | bigint {
  const [least, most] = RANGES[type]
  const expected = `${what} is a whole number from ${least} to ${most} (${type})`
  if (!WHOLE.test(text)) throw new WarpdexError('BAD_REQUEST', `${shown(text)} is no number; ${expected}`)
  const value = BigInt(text.replace(/^\+/, ''))
  if (value < least || value > most) {
    throw new WarpdexError('BAD_REQUEST', `${shown(text)} is out of range; ${expected}`)
  }
  return type === 'u32' || type === 'i32' ? Number(value) : value
}

function parseFloatKey(text: string, type: 'f32' | 'f64', what: string): number {
  if (INFINITE.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  if (!DECIMAL.test(text)) {
    const reason = /^[+-]?nan$/i.test(text) ? 'NaN has no place in an order' : `${shown(text)} is no number`
    throw new WarpdexError(
      'BAD_REQUEST',
      `${reason}; ${what} is a number such as -1.5, 2e9 or Infinity (${type})`,
    )
  }
  const value = type === 'f32' ? Math.fround(Number(text)) : Number(text)
  if (Number.isFinite(value)) return value
  throw new WarpdexError(
    'BAD_REQUEST',
    `${shown(text)} is out of range; ${what} is a finite ${type}, or Infinity`,
  )
}

/** What a user wrote, in quotes and not at any length. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}

/** A key as the shortest text that is read as the same key. */
export function showKey(key: number | bigint, keyType: KeyType): string {
  return keyType === 'f32' ? shortestFloat(Number(key)) : String(key)
}

/** A key as JSON: a number, or a text where JSON's numbers cannot hold it. */
export function keyAsJson(key: number | bigint, keyType: KeyType): number | string {
  const text = showKey(key, keyType)
  return typeof key === 'bigint' || !Number.isFinite(key) ? text : Number(text)
}

/** Nine digits tell all numbers of 32 bits apart, and most need fewer. */
function shortestFloat(value: number): string {
  for (let digits = 1; digits <= 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return String(short)
  }
  return String(value)
}
