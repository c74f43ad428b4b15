import t from 'tap'
import { col, constant, type Value } from '../../../clients/sdk/query/value.js'
import { DATE_PARTS } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'

const DAYS = [
  '1970-01-01',
  '1969-12-31',
  '1899-12-31',
  '1900-02-28',
  '1900-03-01',
  '2000-02-29',
  '2024-02-29',
  '2023-12-31',
  '2024-12-31',
  '0001-01-01',
  '0000-02-29',
  '-0004-12-31',
  '12024-07-04',
]
const CLOCKS = ['00:00:00', '23:59:59.999999', '12:34:56.000001', '01:00:00.5']

/** Columns of dates and timestamps, some of them at random and far off, and of small numbers. */
function dates(random: Random) {
  const day = () => random.pick(DAYS)
  const far = () => new Date((random.below(2 ** 31) - 2 ** 30) * 20_000).toISOString()
  const date = () => (random.chance(0.5) ? day() : far().slice(0, -14))
  const moment = () => (random.chance(0.5) ? `${day()}T${random.pick(CLOCKS)}Z` : far())
  const cells = <T>(make: () => T, nulls: number) =>
    Array.from({ length: 400 }, () => (random.chance(nulls) ? null : make()))
  return hostRelation('r', [
    { name: 'd', type: 'date', nullable: false, cells: cells(date, 0) },
    { name: 'nd', type: 'date', nullable: true, cells: cells(date, 0.2) },
    { name: 't', type: 'timestamp', nullable: false, cells: cells(moment, 0) },
    { name: 'nt', type: 'timestamp', nullable: true, cells: cells(moment, 0.2) },
    { name: 'n', type: 'i32', nullable: true, cells: cells(() => random.below(4001) - 2000, 0.1) },
  ])
}

const [d, nd, time, nt, n] = [col('d'), col('nd'), col('t'), col('nt'), col('n')]

const UNITS = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second'] as const

const VALUES: readonly (readonly [sql: string, value: Value])[] = [
  ...DATE_PARTS.flatMap((part) => [
    [`${part}(nd)`, nd[part]()] as const,
    [`${part}(nt)`, nt[part]()] as const,
  ]),
  ...UNITS.flatMap((unit) => [
    [`date_trunc('${unit}', d)`, d.dateTrunc(unit)] as const,
    [`date_trunc('${unit}', nt)`, nt.dateTrunc(unit)] as const,
  ]),
  ['d + n', d.plus(n)],
  ['3 + nd', constant(3).plus(nd)],
  ['nd - 100', nd.minus(100)],
  ['d - nd', d.minus(nd)],
  ["d - date '1994-01-01'", d.minus('1994-01-01')],
  ['(d + to_months(n))::date', d.addMonths(n)],
  ['(nd - interval 1 year)::date', nd.addMonths(-12)],
  ['nt + to_months(n)', nt.addMonths(n)],
  ['t - interval 1 month', time.addMonths(-1)],
  ['(d + to_days(n))::date', d.addDays(n)],
  ['nt + to_days(n)', nt.addDays(n)],
  ['t + to_microseconds(n)', time.addMicroseconds(n)],
  ['d + interval 90 minute', d.addMicroseconds(90 * 60e6)],
  ['nt::date', nt.as('date')],
  ['nd::timestamp', nd.as('timestamp')],
]

const CONDITIONS: readonly (readonly [sql: string, condition: Value])[] = [
  ['year(nd) = 2024', nd.year().eq(2024)],
  ["nt::date >= date '1969-12-31'", nt.as('date').ge('1969-12-31')],
  ['month(d) in (2, 12)', d.month().in([2, 12])],
  ["d < date '1994-01-01' + interval 1 year", d.lt('1995-01-01')],
]

t.test('parts of dates, and dates that are computed, are those of DuckDB', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const bed = await QueryBed.open(t, [dates(new Random(seed))])
  const scan = { op: 'scan', relation: 'r' } as const
  for (const [sql, { expression }] of VALUES) {
    const columns = [{ name: 'x', value: expression }]
    await bed.same(t, sql, { op: 'project', input: scan, columns }, `select ${sql} from r`)
  }
  for (const [sql, { expression }] of CONDITIONS) {
    const tree = { op: 'where', input: scan, condition: expression } as const
    await bed.same(t, sql, tree, `select * from r where ${sql}`)
  }
  await bed.same(
    t,
    'group by year',
    {
      op: 'groupBy',
      input: scan,
      keys: [{ name: 'year', value: nd.year().expression }],
      aggregates: [{ name: 'last', function: 'max', value: nt.as('date').expression }],
    },
    'select year(nd), max(nt::date) from r group by 1',
  )
})

t.test('days that there are not', async (t) => {
  const bed = await QueryBed.open(t, [dates(new Random(1))])
  for (const [value, message] of [
    [d.addDays(2n ** 31n), /overflow/],
    [d.addMonths(2n ** 40n), /overflow/],
    [d.addMonths(12 * 5_900_000), /overflow/],
    [time.addDays(2n ** 31n), /overflow/],
    [d.addMonths('x'), /"addMonths" needs a whole number behind the date, not string/],
    [n.year(), /query\.columns\[0\]\.value: "year" needs a date or a timestamp, not i32/],
    [d.plus(nd), /"\+" needs numbers, not date/],
    [d.plus(1.5), /date and f64 do not go together/],
    [d.dateTrunc('eon' as 'year'), /"dateTrunc" begins with one of year, quarter/],
  ] as const) {
    const columns = [{ name: 'x', value: value.expression }]
    await t.rejects(bed.rows({ op: 'project', input: { op: 'scan', relation: 'r' }, columns }), { message })
  }
})
