import type { DateFunction, DatePart, DateUnit } from '../../../protocol/query/tree.js'
import { conversion } from './conversion.js'
import type { FunctionCode } from './function-code.js'
import { arithmetic, strict } from './operators.js'
import type { RowText } from './row-text.js'
import type { RowValue } from './row-value.js'

/** Statements that it takes to find the parts of a date, roughly, and the day of a timestamp. */
const CALENDAR = 40
const CLOCK = 40

/** What `dates.wesl` calls the parts of a day. */
const OF_DAYS = {
  year: 'year',
  quarter: 'quarter',
  month: 'month',
  day: 'day',
  dayOfWeek: 'week_day',
  dayOfYear: 'year_day',
} satisfies Partial<Record<DatePart, string>>

/** Seconds of a part of a day, and how many of it there are in the next larger one. */
const OF_TIME = { hour: [3600, 24], minute: [60, 60], second: [1, 60] } as const

/** Months of what begins with one, and seconds of what does not. */
const MONTHS = { year: 12, quarter: 3, month: 1 } as const
const SECONDS = { day: 86_400, hour: 3600, minute: 60, second: 1 } as const

export const DATE_CODES: Readonly<Partial<Record<DateFunction, FunctionCode>>> = {
  ...Object.fromEntries(Object.entries(OF_DAYS).map(([part, field]) => [part, partOfDay(field)])),
  ...Object.fromEntries(
    Object.entries(OF_TIME).map(([part, [seconds, of]]) => [part, partOfTime(seconds, of)]),
  ),
  epoch: (code, [a]) => {
    code.weigh(CLOCK)
    const epoch = code.use('dates', a!.type === 'date' ? 'epoch_of_date' : 'epoch_of_timestamp')
    return strict(code, 'f64', `${epoch}(${a!.value})`, [a!])
  },
  dateTrunc: (code, [, a], { args: [unit] }) => {
    return truncated(code, a!, (unit as { readonly value: DateUnit }).value)
  },
  addMonths: (code, [a, months]) => monthsLater(code, a!, months!),
}

function partOfDay(field: string): FunctionCode {
  return (code, [a]) => {
    code.weigh(CALENDAR)
    const part = `u32(${code.use('dates', 'day_of')}(${daysOf(code, a!)}).${field})`
    return strict(code, 'i64', `${code.use('values', 'extended')}(${part})`, [a!])
  }
}

function partOfTime(seconds: number, of: number): FunctionCode {
  return (code, [a]) => {
    if (a!.type === 'date') return strict(code, 'i64', 'vec2u()', [a!])
    code.weigh(CLOCK)
    const second = `${code.use('dates', 'moment_of')}(${a!.value}).second`
    return strict(code, 'i64', `vec2u(${second} / ${seconds}u % ${of}u, 0u)`, [a!])
  }
}

/** WGSL of the day that a date is, or that a timestamp is in. */
function daysOf(code: RowText, a: RowValue): string {
  return a.type === 'date' ? a.value : conversion(code, a, 'date').value
}

/** A timestamp, at the beginning of a unit. */
function truncated(code: RowText, a: RowValue, unit: DateUnit): RowValue {
  code.weigh(CALENDAR)
  if (unit in SECONDS) {
    const seconds = SECONDS[unit as keyof typeof SECONDS]
    return strict(code, 'timestamp', `${code.use('dates', 'truncated_time')}(${a.value}, ${seconds}u)`, [a])
  }
  const months = MONTHS[unit as keyof typeof MONTHS]
  const first = code.use('dates', unit === 'week' ? 'first_of_week' : 'first_of_months')
  const days = `${first}(${daysOf(code, a)}${unit === 'week' ? '' : `, ${months}u`})`
  return conversion(code, strict(code, 'date', days, [a]), 'timestamp')
}

/** Of a timestamp the time of the day stays. */
function monthsLater(code: RowText, a: RowValue, months: RowValue): RowValue {
  code.weigh(2 * CALENDAR)
  const days = code.let(daysOf(code, a))
  const moved = code.let(`${code.use('dates', 'add_months')}(${days}, ${months.value})`)
  const date = strict(code, 'date', `${moved}.days`, [a, months], `${moved}.fails`)
  if (a.type === 'date') return date
  const before = conversion(
    code,
    { ...a, type: 'date', words: 1, value: days, fault: undefined },
    'timestamp',
  )
  const time = `${code.use('wide', 'subtract_wide')}(${a.value}, ${before.value})`
  const later = conversion(code, date, 'timestamp')
  return arithmetic(code, '+', 'timestamp', [later, { ...a, value: code.let(time) }])
}
