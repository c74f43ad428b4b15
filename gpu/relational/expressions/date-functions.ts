import type { DateFunction, DatePart, DateUnit } from '../../../protocol/query/tree.js'
import { conversion } from './conversion.js'
import type { FunctionCode } from './function-code.js'
import { arithmetic, strict } from './operators.js'
import type { RowText } from './row-text.js'
import type { RowValue } from './row-value.js'

/** Statements that it takes to find the year, month and day of a date, roughly, and the day of a timestamp. */
const CALENDAR = 30
const CLOCK = 40

/** Functions of `dates.wesl` for a part of a day's number. */
const OF_DAYS = {
  year: 'year_of',
  quarter: 'quarter_of',
  month: 'month_of',
  day: 'day_of_month',
  dayOfWeek: 'day_of_week',
  dayOfYear: 'day_of_year',
} satisfies Partial<Record<DatePart, string>>

/** Seconds of a part of a day, and how many of it there are in the next larger one. */
const OF_TIME = { hour: [3600, 24], minute: [60, 60], second: [1, 60] } as const

/** Months of what begins with one. */
const MONTHS = { year: 12, quarter: 3, month: 1 } as const
const SECONDS = { day: 86_400, hour: 3600, minute: 60, second: 1 } as const

type DateCode = Readonly<Partial<Record<DateFunction, FunctionCode>>>

export const DATE_CODES: DateCode = {
  ...Object.fromEntries(Object.entries(OF_DAYS).map(([part, name]) => [part, partOfDays(name)])),
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

function partOfDays(name: string): FunctionCode {
  return (code, [a]) => {
    code.weigh(CALENDAR)
    const part = `${code.use('dates', name)}(${daysOf(code, a!)})`
    return strict(code, 'i64', `${code.use('values', 'extended')}(${part})`, [a!])
  }
}

function partOfTime(seconds: number, of: number): FunctionCode {
  return (code, [a]) => {
    if (a!.type === 'date') return strict(code, 'i64', 'vec2u()', [a!])
    code.weigh(CLOCK)
    const second = `${code.use('dates', 'second_of_day')}(${a!.value})`
    return strict(code, 'i64', `vec2u(${second} / ${seconds}u % ${of}u, 0u)`, [a!])
  }
}

/** WGSL of the day that a date is, or that a timestamp is in. */
function daysOf(code: RowText, { type, value }: RowValue): string {
  if (type === 'date') return value
  code.weigh(CLOCK)
  return `${code.use('dates', 'date_of')}(${value})`
}

/** A timestamp, at the beginning of a unit. */
function truncated(code: RowText, a: RowValue, unit: DateUnit): RowValue {
  if (unit in SECONDS) {
    code.weigh(CLOCK)
    const seconds = SECONDS[unit as keyof typeof SECONDS]
    return strict(code, 'timestamp', `${code.use('dates', 'truncated_time')}(${a.value}, ${seconds}u)`, [a])
  }
  code.weigh(CALENDAR)
  const days = daysOf(code, a)
  const first =
    unit === 'week'
      ? `${code.use('dates', 'first_of_week')}(${days})`
      : `${code.use('dates', 'first_of_months')}(${days}, ${MONTHS[unit as keyof typeof MONTHS]}u)`
  return conversion(code, strict(code, 'date', first, [a]), 'timestamp')
}

/** Of a timestamp the time of the day stays. */
function monthsLater(code: RowText, a: RowValue, months: RowValue): RowValue {
  code.weigh(2 * CALENDAR)
  const days = code.let(daysOf(code, a))
  const moved = code.let(`${code.use('dates', 'add_months')}(${days}, ${months.value})`)
  const date = strict(code, 'date', `${moved}.days`, [a, months], `${moved}.fails`)
  if (a.type === 'date') return date
  const [from, to] = [{ ...date, value: days, fault: undefined }, date].map((day) =>
    conversion(code, day!, 'timestamp'),
  )
  const time = `${code.use('wide', 'subtract_wide')}(${a.value}, ${from!.value})`
  return arithmetic(code, '+', 'timestamp', [to!, { ...a, value: code.let(time) }])
}
