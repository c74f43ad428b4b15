import { WarpdexError } from './errors.js'
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

/**
 * What the values of a column may be: a `date` is a day, and a `timestamp` a microsecond, UTC. Only columns of results are of 128 bits: sums of integers, `i128`, of up
 * to 38 digits, and decimals of more than 18.
 */
export type ColumnType = (typeof PLAIN_TYPES)[number] | 'i128' | DecimalType

/** What messages say that a type may be. */
export const TYPE_NAMES = `${PLAIN_TYPES.join(', ')}, decimal(p,s)`

/** Digits of a stored decimal at most: they fit 64 bits. */
export const DECIMAL_DIGITS = 18
/** Digits of a result's decimal at most, as in DuckDB: they fit 128 bits. */
export const RESULT_DIGITS = 38

export interface DecimalShape {
  readonly precision: number
  readonly scale: number
}

/** The type that a text names, of those that stored columns may have; undefined where there is none. */
export function parseColumnType(text: unknown): ColumnType | undefined {
  const type = parseResultType(text)
  return type === undefined || columnWords(type) === 4 ? undefined : type
}

/** The same of all types. */
export function parseResultType(text: unknown): ColumnType | undefined {
  if (text === 'i128') return text
  const plain = PLAIN_TYPES.find((type) => type === text)
  if (plain !== undefined || typeof text !== 'string') return plain
  const [, precision, scale] = (/^decimal\((\d{1,2}), ?(\d{1,2})\)$/.exec(text) ?? []).map(Number)
  if (precision === undefined || scale === undefined) return undefined
  const isDecimal = precision >= 1 && precision <= RESULT_DIGITS && scale <= precision
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

/** What values are stored as: of integers of 128 bits there are no keys. */
export type StorageType = FixedKeyType | 'i128'

/**
 * The type of numbers that a type's values are stored as, on the wire and on the device: a boolean is 0 or 1, a date days and a timestamp microseconds
 * since 1970, a decimal so many of its last digit, and a string its number in a dictionary. Their order is the same.
 */
export function storageOf(type: ColumnType): StorageType {
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
    case 'i128':
      return type
    default:
      return (decimalShape(type)?.precision ?? 0) > DECIMAL_DIGITS ? 'i128' : 'i64'
  }
}

/** u32 words of one value on the device, and on the wire. */
export function columnWords(type: ColumnType): 1 | 2 | 4 {
  const storage = storageOf(type)
  if (storage === 'i128') return 4
  return storage === 'u64' || storage === 'i64' || storage === 'f64' ? 2 : 1
}

/** The type of numbers that the values of a column of a relation, or of an index, are stored as. */
export function storageInRelation(type: ColumnType): FixedKeyType {
  const storage = storageOf(type)
  if (storage === 'i128') throw new WarpdexError('INTERNAL', `no column of a relation is of type ${type}`)
  return storage
}

/** The type of keys that are a column's values. */
export function keyTypeOfColumn(type: ColumnType): FixedKeyType | 'string' {
  return type === 'string' ? type : storageInRelation(type)
}
