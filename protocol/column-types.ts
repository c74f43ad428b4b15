import type { FixedKeyType } from './types.js'

/** Types of columns that have no parameters. Strings are UTF-8, in the order of their bytes. */
export const PLAIN_TYPES = [
  'boolean',
  'u32',
  'i32',
  'u64',
  'i64',
  'f32',
  'f64',
  'date',
  'timestamp',
  'string',
] as const

/** Numbers of up to `precision` digits, `scale` of them behind the point. */
export type DecimalType = `decimal(${number},${number})`

/** What the values of a column may be: a `date` is a day, and a `timestamp` a microsecond, UTC. */
export type ColumnType = (typeof PLAIN_TYPES)[number] | DecimalType

/** What messages say that a type may be. */
export const TYPE_NAMES = `${PLAIN_TYPES.join(', ')}, decimal(p,s)`

/** Digits of a stored decimal at most: they fit 64 bits. */
export const DECIMAL_DIGITS = 18
/** Digits of the type of a sum of decimals, as in DuckDB. */
export const SUM_DIGITS = 38

export interface DecimalShape {
  readonly precision: number
  readonly scale: number
}

/**
 * The type that a text names; undefined where there is none.
 * @param mostDigits of a decimal
 */
export function parseColumnType(text: unknown, mostDigits = DECIMAL_DIGITS): ColumnType | undefined {
  const plain = PLAIN_TYPES.find((type) => type === text)
  if (plain !== undefined || typeof text !== 'string') return plain
  const [, precision, scale] = (/^decimal\((\d{1,2}), ?(\d{1,2})\)$/.exec(text) ?? []).map(Number)
  if (precision === undefined || scale === undefined) return undefined
  const isDecimal = precision >= 1 && precision <= mostDigits && scale <= precision
  return isDecimal ? decimalType(precision, scale) : undefined
}

export function decimalType(precision: number, scale: number): DecimalType {
  return `decimal(${precision},${scale})`
}

/** The digits of a decimal type; undefined for others. */
export function decimalShape(type: ColumnType): DecimalShape | undefined {
  if (!type.startsWith('decimal')) return undefined
  const [precision, scale] = type.slice('decimal('.length, -1).split(',').map(Number)
  return precision === undefined || scale === undefined ? undefined : { precision, scale }
}

/**
 * The type of numbers that a type's values are stored as, on the wire and on the device: a boolean is 0 or 1, a date days and a timestamp microseconds
 * since 1970, a decimal so many of its last digit, and a string its number in a dictionary. Their order is the same.
 */
export function storageOf(type: ColumnType): FixedKeyType {
  switch (type) {
    case 'boolean':
    case 'string':
      return 'u32'
    case 'date':
      return 'i32'
    case 'u32':
    case 'i32':
    case 'u64':
    case 'i64':
    case 'f32':
    case 'f64':
      return type
    default:
      return 'i64'
  }
}

/** u32 words of one value on the device, and on the wire. */
export function columnWords(type: ColumnType): 1 | 2 {
  const storage = storageOf(type)
  return storage === 'u64' || storage === 'i64' || storage === 'f64' ? 2 : 1
}

/** The type of keys that are a column's values. */
export function keyTypeOfColumn(type: ColumnType): FixedKeyType | 'string' {
  return type === 'string' ? type : storageOf(type)
}
