import { type ColumnType, type DecimalShape, decimalShape } from './column-types.js'

/*
 * Dates, timestamps and decimals as texts, and as the integers that they are stored as.
 */

const DAY = 86_400_000_000n
const MICROSECONDS = { hour: 3_600_000_000n, minute: 60_000_000n, second: 1_000_000n } as const
/** Days of 400 years, after which the calendar repeats itself, and days from 0000-03-01 to 1970-01-01. */
const ERA_DAYS = 146_097
const EPOCH_DAYS = 719_468

const DATE = /^([+-]?\d{4,7})-(\d\d)-(\d\d)$/
const TIMESTAMP =
  /^([+-]?\d{4,7}-\d\d-\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6})\d*)?)?(?:Z|([+-])(\d\d):?(\d\d))?)?$/
const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?$/

/** What of a type's values are texts in programs. */
export function hasTexts(type: ColumnType): boolean {
  return type === 'date' || type === 'timestamp' || decimalShape(type) !== undefined
}

/** The integer that a text stands for in a column of a type that `hasTexts`; undefined where the type cannot hold it. */
export function parseText(text: string, type: ColumnType): bigint | undefined {
  if (type === 'date') return parseDate(text)
  if (type === 'timestamp') return parseTimestamp(text)
  const shape = decimalShape(type)
  return shape && parseDecimal(text, shape)
}

/** The text of such an integer. */
export function formatText(value: bigint, type: ColumnType): string {
  if (type === 'date') return formatDate(Number(value))
  if (type === 'timestamp') return formatTimestamp(value)
  return formatDecimal(value, decimalShape(type)?.scale ?? 0)
}

/** The day that a `Date` is in, UTC. */
export function dayOf(date: Date): bigint {
  return BigInt(Math.floor(date.getTime() / 86_400_000))
}

export function microsecondOf(date: Date): bigint {
  return BigInt(date.getTime()) * 1000n
}

/** Days since 1970 of a text such as 1998-09-02. */
function parseDate(text: string): bigint | undefined {
  const [, ...parts] = DATE.exec(text) ?? []
  const [year, month, day] = parts.map(Number)
  if (year === undefined || month === undefined || day === undefined) return undefined
  if (month < 1 || month > 12 || day < 1) return undefined
  const days = daysFromCivil(year, month, day)
  // The 31st of June would be the first of July.
  return civilFromDays(days).day === day ? BigInt(days) : undefined
}

function formatDate(days: number): string {
  const { year, month, day } = civilFromDays(days)
  const sign = year < 0 ? '-' : year > 9999 ? '+' : ''
  return `${sign}${padded(Math.abs(year), 4)}-${padded(month, 2)}-${padded(day, 2)}`
}

/** Microseconds since 1970 of a text such as 1998-09-02T12:00:00.5Z; without a zone it is UTC. */
function parseTimestamp(text: string): bigint | undefined {
  const match = TIMESTAMP.exec(text)
  if (match === null) return undefined
  const [, date, hour = '0', minute = '0', second = '0', fraction = '', sign, zoneHour, zoneMinute] = match
  const days = parseDate(date!)
  if (days === undefined || +hour > 23 || +minute > 59 || +second > 59) return undefined
  const time = BigInt(hour) * MICROSECONDS.hour + BigInt(minute) * MICROSECONDS.minute
  const zone = BigInt(zoneHour ?? 0) * MICROSECONDS.hour + BigInt(zoneMinute ?? 0) * MICROSECONDS.minute
  const value =
    days * DAY +
    time +
    BigInt(second) * MICROSECONDS.second +
    BigInt(fraction.padEnd(6, '0')) +
    (sign === '-' ? zone : -zone)
  return BigInt.asIntN(64, value) === value ? value : undefined
}

function formatTimestamp(value: bigint): string {
  const time = ((value % DAY) + DAY) % DAY
  const date = formatDate(Number((value - time) / DAY))
  const part = (unit: bigint, of: bigint) => padded(Number((time / unit) % of), 2)
  const clock = [
    part(MICROSECONDS.hour, 24n),
    part(MICROSECONDS.minute, 60n),
    part(MICROSECONDS.second, 60n),
  ].join(':')
  const fraction = padded(Number(time % MICROSECONDS.second), 6).replace(/0+$/, '')
  return `${date}T${clock}${fraction === '' ? '' : `.${fraction}`}Z`
}

/** So many of the last digit as a text such as 19.04 is; undefined for more digits than the type has, on either side of the point. */
function parseDecimal(text: string, { precision, scale }: DecimalShape): bigint | undefined {
  const [, sign, whole = '', fraction = ''] = DECIMAL.exec(text) ?? []
  if (sign === undefined || whole.length + fraction.length === 0) return undefined
  const digits = fraction.replace(/0+$/, '')
  if (digits.length > scale) return undefined
  const value = BigInt(whole + digits.padEnd(scale, '0'))
  if (value >= 10n ** BigInt(precision)) return undefined
  return sign === '-' ? -value : value
}

function formatDecimal(value: bigint, scale: number): string {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  const sign = value < 0n ? '-' : ''
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** Days since 1970 of a day of the Gregorian calendar, which begins in March here, so that a leap day is a year's last. */
function daysFromCivil(year: number, month: number, day: number): number {
  const years = month <= 2 ? year - 1 : year
  const era = Math.floor(years / 400)
  const yearOfEra = years - era * 400
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * ERA_DAYS + dayOfEra - EPOCH_DAYS
}

function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + EPOCH_DAYS
  const era = Math.floor(shifted / ERA_DAYS)
  const dayOfEra = shifted - era * ERA_DAYS
  const leaps = Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096)
  const yearOfEra = Math.floor((dayOfEra - leaps) / 365)
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = ((shiftedMonth + 2) % 12) + 1
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}

function padded(number: number, digits: number): string {
  return String(number).padStart(digits, '0')
}
