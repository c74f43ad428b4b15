import { type ColumnType, decimalShape } from '../column-types.js'
import { formatText } from '../value-texts.js'

/*
 * The texts that values become by a cast to a string: those of DuckDB. Of dates, timestamps and decimals the values are the integers that they are stored as.
 */

export function castText(value: bigint | number | boolean, type: ColumnType): string {
  if (type === 'f32' || type === 'f64') return floatText(Number(value), type)
  if (type === 'date') return dateText(Number(value), '')
  if (type === 'timestamp') return timestampText(BigInt(value))
  const shape = decimalShape(type)
  if (shape === undefined) return String(value)
  const digits = formatText(BigInt(value), type)
  // Where there is no place for a digit before the point, there is none.
  return shape.precision === shape.scale ? digits.replace(/^(-?)0/, '$1') : digits
}

/** Digits of an f32 at most. */
const MOST_DIGITS = 9

/** As few digits as tell the number, with an exponent for those that are small or large. */
function floatText(value: number, type: 'f32' | 'f64'): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (Object.is(value, -0)) return '-0.0'
  const shortest = type === 'f32' ? shortestFloat(value) : value
  const [mantissa, exponent = '0'] = shortest.toExponential().split('e')
  const size = Math.abs(Number(exponent))
  if (size > 15 || Number(exponent) < -4)
    return `${mantissa}e${exponent.slice(0, 1)}${String(size).padStart(2, '0')}`
  const plain = String(shortest)
  return plain.includes('.') ? plain : `${plain}.0`
}

/** Of the f64s that an f32 is the nearest one to, that with the fewest digits. */
function shortestFloat(value: number): number {
  for (let digits = 1; digits < MOST_DIGITS; digits++) {
    const shorter = Number(value.toPrecision(digits))
    if (Math.fround(shorter) === value) return shorter
  }
  return Number(value.toPrecision(MOST_DIGITS))
}

/** The calendar comes again after so many days, which are 400 years. */
const ERA_DAYS = 146_097
const DAY_MILLISECONDS = 86_400_000
const DAY_MICROSECONDS = 86_400_000_000n

function dateText(days: number, time: string): string {
  const era = Math.floor(days / ERA_DAYS)
  const date = new Date((days - era * ERA_DAYS) * DAY_MILLISECONDS)
  const year = date.getUTCFullYear() + 400 * era
  const day = date.toISOString().slice('1970'.length, '1970-01-01'.length)
  const digits = String(year > 0 ? year : 1 - year).padStart(4, '0')
  return `${digits}${day}${year > 0 ? '' : ' (BC)'}${time}`
}

function timestampText(microseconds: bigint): string {
  const time = ((microseconds % DAY_MICROSECONDS) + DAY_MICROSECONDS) % DAY_MICROSECONDS
  const clock = new Date(Number(time / 1000n)).toISOString().slice('1970-01-01T'.length, -'Z'.length)
  const fraction = `${clock.slice(-3)}${String(time % 1000n).padStart(3, '0')}`.replace(/0+$/, '')
  const seconds = clock.slice(0, -'.000'.length)
  const days = Number((microseconds - time) / DAY_MICROSECONDS)
  return dateText(days, ` ${seconds}${fraction === '' ? '' : `.${fraction}`}`)
}
