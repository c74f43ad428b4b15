import {
  type ColumnType,
  type DecimalShape,
  decimalShape,
  parseResultType,
  TYPE_NAMES,
} from '../column-types.js'
import { formatText, hasTexts, parseText } from '../value-texts.js'
import { DIGITS, INTEGER_RANGES } from './integer-ranges.js'
import { describe, type NodeReader } from './node-reader.js'
import type { TypedExpression } from './typed.js'

export type Constant = Extract<TypedExpression, { kind: 'constant' }>

/** A null, which goes with any type. */
export function nullOf(type: ColumnType): Constant {
  return { kind: 'constant', value: null, type, nullable: true }
}

/**
 * Reads a constant: a number, a text, true, false or null, or digits of a number beside a `type`.
 * @throws WarpdexError `BAD_REQUEST`
 */
export function constantOf(reader: NodeReader): Constant {
  const type = reader.has('type') ? columnTypeOf(reader) : undefined
  const value = reader.value('value')
  if (value === null) return nullOf(type ?? 'i64')
  const constant = freeConstant(value, type)
  if (constant === undefined) throw reader.fault(`${describe(value)} is not a constant`)
  if (type === undefined) return constant
  const fitting = constantAs(constant, type)
  if (fitting === undefined) throw reader.fault(`${describe(value)} is not of type ${type}`)
  return fitting
}

/** The type that the field `type` names. */
export function columnTypeOf(reader: NodeReader): ColumnType {
  const type = parseResultType(reader.text('type'))
  if (type !== undefined) return type
  throw reader.fault(`"type" must be one of ${TYPE_NAMES}, not ${describe(reader.value('type'))}`)
}

function freeConstant(value: unknown, type: ColumnType | undefined): Constant | undefined {
  if (typeof value === 'boolean') return { kind: 'constant', value, type: 'boolean', nullable: false }
  if (typeof value === 'number') return freeNumber(value, type)
  if (typeof value !== 'string') return undefined
  const isText = type === undefined || type === 'string' || hasTexts(type)
  if (isText) return text(value)
  return DIGITS.test(value) ? integer(BigInt(value)) : undefined
}

/** A number that takes the type of what it meets unless it has one. */
export function freeNumber(value: number, type?: ColumnType): Constant {
  if (Number.isSafeInteger(value)) return integer(BigInt(value))
  if (type === 'f32') return fraction(value)
  if (type === 'f64' || !Number.isFinite(value)) return double(value)
  const constant: Constant = { ...double(value), isFree: true }
  return Number.isInteger(value) ? { ...constant, isInexact: true } : constant
}

/** Those of constants, as far as they hold them. */
const INTEGER_TYPES = ['i64', 'u64'] as const

export function integer(value: bigint): Constant {
  const type = INTEGER_TYPES.find((type) => isIn(INTEGER_RANGES[type]!, value)) ?? 'i128'
  return { kind: 'constant', value, type, nullable: false }
}

/** Bits of an integer that tell which float it goes to, if those behind them are no more than one that says whether there were any. */
const LEADING_BITS = 40

/** The `f32` that is nearest to an integer, rounded once, as the device does it (`wide.wesl`). */
export function roundedToFloat(value: bigint): number {
  const magnitude = value < 0n ? -value : value
  if (magnitude <= Number.MAX_SAFE_INTEGER) return Math.fround(Number(value))
  const extra = BigInt(magnitude.toString(2).length - LEADING_BITS)
  const leading = magnitude >> extra
  const isExact = leading << extra === magnitude
  const rounded = Math.fround(Number(isExact ? leading : leading | 1n)) * 2 ** Number(extra)
  return value < 0n ? -rounded : rounded
}

/** The `f32` that is nearest to a decimal. */
function floatOf(value: bigint, { scale }: DecimalShape): number {
  const power = 10n ** BigInt(scale)
  const shifted = (value < 0n ? -value : value) << FLOAT_SHIFT
  const whole = shifted / power
  const magnitude = roundedToFloat(whole * power === shifted ? whole : whole | 1n) / 2 ** Number(FLOAT_SHIFT)
  return value < 0n ? -magnitude : magnitude
}

/** Bits behind the point that leave more than those of a float of the smallest decimal. */
const FLOAT_SHIFT = 128n

function fraction(value: number): Constant {
  return { kind: 'constant', value: Math.fround(value), type: 'f32', nullable: false }
}

function double(value: number): Constant {
  return { kind: 'constant', value, type: 'f64', nullable: false }
}

export function text(value: string): Constant {
  return { kind: 'constant', value, type: 'string', nullable: false }
}

/** A constant as one of another type; undefined where it does not fit. */
export function constantAs(constant: Constant, type: ColumnType): Constant | undefined {
  const { value } = constant
  if (value === null) return nullOf(type)
  if (constant.type === type) return constant
  if (typeof value === 'boolean') return undefined
  if (typeof value === 'number' && type === 'f64') return double(value)
  if (typeof value === 'number' && type === 'f32') {
    return constant.isFree || !Number.isFinite(value) ? fraction(value) : undefined
  }
  const shape = decimalShape(constant.type)
  if (typeof value === 'bigint' && shape !== undefined && (type === 'f32' || type === 'f64')) {
    return type === 'f64' ? double(Number(formatText(value, constant.type))) : fraction(floatOf(value, shape))
  }
  const digits = textOf(constant)
  if (hasTexts(type)) return digits === undefined ? undefined : storedAs(parseText(digits, type), type)
  if (typeof value !== 'bigint' || hasTexts(constant.type)) return undefined
  if (type === 'f32') return fraction(roundedToFloat(value))
  if (type === 'f64') return double(Number(value))
  const range = INTEGER_RANGES[type]
  return range !== undefined && isIn(range, value) ? { ...constant, type } : undefined
}

function isIn([least, most]: readonly [bigint, bigint], value: bigint): boolean {
  return value >= least && value <= most
}

function storedAs(value: bigint | undefined, type: ColumnType): Constant | undefined {
  return value === undefined ? undefined : { kind: 'constant', value, type, nullable: false }
}

/** What a constant is as a text of a date, a timestamp or a decimal: of a number all of its digits; undefined where these are not known. */
function textOf({ value, type, isFree, isInexact }: Constant): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'bigint') return hasTexts(type) ? formatText(value, type) : String(value)
  return isFree && !isInexact ? String(value) : undefined
}

/** The digits that a constant has, if it is a number that is known exactly. */
export function digitsOf(constant: Constant): DecimalShape | undefined {
  const [, whole, fraction = ''] = /^-?0*(\d*)(?:\.(\d*))?$/.exec(textOf(constant) ?? '-') ?? []
  if (whole === undefined || constant.type === 'string') return undefined
  return { precision: Math.max(1, whole.length + fraction.length), scale: fraction.length }
}
