import { type ColumnType, type DecimalShape, decimalShape } from './column-types.js'

/*
 * Dates, timestamps and decimals as texts, and as the integers that they are stored as.
 */

const DAY = 86_400_000_000n
const MICROSECONDS = { hour: 3_600_000_000n, minute: 60_000_000n, second: 1_000_000n } as const
const DAY_MILLISECONDS = 86_400_000

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
  return BigInt(Math.floor(date.getTime() / DAY_MILLISECONDS))
}

export function microsecondOf(date: Date): bigint {
  return BigInt(date.getTime()) * 1000n
}

/** Days since 1970 of a text such as 1998-09-02. */
function parseDate(text: string): bigint | undefined {
  const [, year, month, day] = DATE.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || day === undefined) return undefined
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  // The 31st of June would be the first of July.
  const isDay = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  return isDay ? dayOf(date) : undefined
}

/** Past the 271,821 years that JavaScript counts it is the number of days. */
function formatDate(days: number): string {
  const date = new Date(days * DAY_MILLISECONDS)
  return Number.isNaN(date.getTime()) ? String(days) : date.toISOString().slice(0, -'T00:00:00.000Z'.length)
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

function padded(number: number, digits: number): string {
  return String(number).padStart(digits, '0')
}
