import t from 'tap'
import { col } from '../../../clients/sdk/query/value.js'
import type { ColumnType } from '../../../protocol/column-types.js'
import type { QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { SqlBed } from '../sql/sql-bed.js'
import { type Cell, hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'

const R: QueryNode = { op: 'scan', relation: 'r' }
const NUMBERS = [
  '0',
  '-0',
  '+7',
  ' 12 ',
  '12.5',
  '-12.5',
  '.5',
  '7.',
  '1e3',
  '25e-1',
  '1e-9',
  '-3.1415926',
  '99',
]
const DATES = ['1970-01-01', '1969-12-31', '2024-02-29', '0001-01-01', '12024-07-04', ' 1994-01-01']
const MOMENTS = ['1970-01-01 00:00:00', '1969-12-31 23:59:59.5', '2024-02-29 12:34:56.000001', '1994-01-01']
const TRUTHS = ['true', 'F', 'yes', 'No', '1', '0', 'T']

const CASTS: readonly (readonly [column: string, type: ColumnType, sql: string])[] = [
  ['number', 'i32', 'integer'],
  ['number', 'i64', 'bigint'],
  ['number', 'f32', 'float'],
  ['number', 'f64', 'double'],
  ['number', 'decimal(9,2)', 'decimal(9,2)'],
  ['number', 'decimal(18,4)', 'decimal(18,4)'],
  ['date', 'date', 'date'],
  ['moment', 'timestamp', 'timestamp'],
  ['truth', 'boolean', 'boolean'],
]

t.test('strings are cast to what they are in DuckDB', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const column = (name: string, texts: readonly string[]) => {
    const cells = Array.from({ length: 200 }, () => (random.chance(0.1) ? null : random.pick(texts)))
    return { name, type: 'string', nullable: true, cells } as const
  }
  const bed = await QueryBed.open(t, [
    hostRelation('r', [
      column('number', NUMBERS),
      column('date', DATES),
      column('moment', MOMENTS),
      column('truth', TRUTHS),
      column('mixed', [...NUMBERS, 'x', '1e40']),
    ]),
  ])
  for (const [name, type, sql] of CASTS) {
    const columns = [{ name: 'x', value: col(name).as(type).expression }]
    await bed.same(
      t,
      `${name}::${sql}`,
      { op: 'project', input: R, columns },
      `select ${name}::${sql} from r`,
    )
  }
  const condition = col('number').as('i64').gt(2).and(col('truth').as('boolean')).expression
  await bed.same(
    t,
    'where',
    { op: 'where', input: R, condition },
    'select * from r where number::bigint > 2 and truth::boolean',
  )
  for (const [name, type] of [
    ['mixed', 'i64'],
    ['mixed', 'f64'],
    ['number', 'u32'],
    ['date', 'boolean'],
    ['truth', 'date'],
  ] as const) {
    const columns = [{ name: 'x', value: col(name).as(type).expression }]
    await t.rejects(bed.rows({ op: 'project', input: R, columns }), {
      message: /a string that is cast to a type is not a value of it/,
    })
  }
  // Those of rows that are not chosen do not matter.
  const value = col('mixed')
    .eq('x')
    .or(col('mixed').eq('1e40'))
    .not()
    .and(col('mixed').as('i64').gt(2)).expression
  const rows =
    "select * from r where mixed not in ('x', '1e40') and case when mixed not in ('x', '1e40') then mixed::bigint end > 2"
  await bed.same(t, 'where they can be', { op: 'where', input: R, condition: value }, rows)
})

t.test('every character has the other case that it has in DuckDB', async (t) => {
  const cells = Array.from({ length: 0x2d00 }, (_, i) => String.fromCodePoint(i + 1))
  const bed = await QueryBed.open(t, [
    hostRelation('r', [{ name: 's', type: 'string', nullable: false, cells }]),
  ])
  const columns = ['upper', 'lower'].map((name) => ({
    name,
    value: col('s')[name as 'upper' | 'lower']().expression,
  }))
  const wanted = await bed.oracle.rows('select upper(s), lower(s) from r')
  const found = await bed.rows({ op: 'project', input: R, columns })
  const unlike = found.filter((row, i) => row.join() !== wanted[i]!.join())
  // Newer editions of Unicode have more pairs of letters, and each of both has its own.
  t.ok(unlike.length <= 4, `${unlike.length} are not, such as ${unlike[0]}`)
})

t.test('a function of more strings than are allowed is refused', async (t) => {
  const cells = Array.from({ length: 1500 }, (_, i) => String(i))
  const bed = await QueryBed.open(t, [
    hostRelation('r', [{ name: 's', type: 'string', nullable: false, cells }]),
  ])
  const columns = [{ name: 'x', value: col('s').append(col('s')).expression }]
  await t.rejects(bed.rows({ op: 'project', input: R, columns }), {
    code: 'TOO_LARGE',
    message:
      /"\|\|" of a column with 2250000 different values, or two with as many pairs; 2097152 are allowed/,
  })
})

t.test('what is no string, and no place in one', async (t) => {
  const cells = [1, 2]
  const bed = await QueryBed.open(t, [
    hostRelation('r', [{ name: 'u', type: 'u32', nullable: false, cells }]),
  ])
  for (const [value, message] of [
    [col('u').length(), /query\.columns\[0\]\.value: "length" needs strings, not u32/],
    [
      col('u').isNull().as('string').substring(1.5),
      /where "substring" begins, and its length, are whole constants/,
    ],
    [col('u').as('date'), /u32 cannot be cast to date/],
  ] as const) {
    await t.rejects(
      bed.rows({ op: 'project', input: R, columns: [{ name: 'x', value: value.expression }] }),
      {
        message,
      },
    )
  }
})

const FLOATS = [
  0,
  -0,
  1,
  0.1,
  1 / 3,
  1e-4,
  1e-5,
  123456.7,
  1e10,
  9.9e15,
  1e16,
  -3.4e38,
  1e-40,
  NaN,
  Infinity,
  -Infinity,
]
const DOUBLES = [...FLOATS, 5e-324, 1e21, -1.7976931348623157e308, 0.1 + 0.2, 123456789012345680]
const DAYS = ['1970-01-01', '1969-12-31', '0001-01-01', '12024-07-04', '-0043-03-15', '0000-02-29']
const OF_COLUMNS: Readonly<Record<string, readonly [type: ColumnType, cells: readonly Cell[]]>> = {
  u: ['u32', [0, 7, 2 ** 32 - 1]],
  i: ['i32', [0, -7, -(2 ** 31)]],
  ul: ['u64', [0n, 2n ** 64n - 1n]],
  il: ['i64', [-1n, -(2n ** 63n)]],
  f: ['f32', FLOATS.map(Math.fround)],
  g: ['f64', DOUBLES],
  b: ['boolean', [true, false]],
  d: ['date', DAYS],
  t: [
    'timestamp',
    [...DAYS, '1970-01-01T00:00:00.5Z', '1969-12-31T23:59:59.000001Z', '2024-02-29T12:34:56Z'],
  ],
  c: ['decimal(9,2)', ['0.00', '0.05', '-0.05', '1234567.89', '-12.30']],
  e: ['decimal(18,18)', ['0', '0.5', '-0.000000000000000001']],
}
const NAMES = Object.keys(OF_COLUMNS)

t.test('what is no string is cast to the string that it is in DuckDB', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const columns = Object.entries(OF_COLUMNS).map(([name, [type, cells]]) => {
    const all = Array.from({ length: 300 }, () => (random.chance(0.1) ? null : random.pick(cells)))
    return { name, type, nullable: true, cells: all }
  })
  const s = { name: 's', type: 'string', nullable: true, cells: columns[0]!.cells.map(String) } as const
  const bed = await SqlBed.open(t, [hostRelation('r', [...columns, s])])
  const list = NAMES.map((name) => `${name}::varchar`)
  await bed.same(t, `select ${list.join(', ')}, sum(il)::varchar from r group by ${NAMES.join(', ')}`)
  for (const text of [
    "select concat(u, ':', d, f), u || '-' || i, length(c::varchar), upper(g::varchar) from r",
    "select u, c from r where c::varchar like '%.05' or length(u::varchar || t::varchar) > 25",
    'select d::varchar, count(*), max(i::varchar), count(distinct t::varchar) from r group by d::varchar',
    'select u::varchar from r order by u::varchar desc nulls last limit 50',
    'select length(length(u::varchar)::varchar), u::varchar::integer + 1 from r where u < 100',
    'select count(*) from r join (select distinct s from r) q on q.s = r.u::varchar',
    "select 7::varchar, 1.50::decimal(5, 2)::varchar, date '2024-02-29'::varchar || u, (u = 7)::varchar from r",
    "select case when u > 5 then u::varchar else 'few' end, coalesce(i::varchar, '-') from r",
    'select u::varchar from r union select s from r',
    "select i::varchar from r where i::varchar in ('-7', '0') or i::varchar < '-2'",
    'select u::varchar from r where u < 0',
    'select u::boolean, il::boolean, f::boolean, g::boolean, c::boolean, sum(i)::boolean from r group by all',
    'select b::integer, b::ubigint + 1, b::float, b::double, b::decimal(9, 2), b::hugeint, true::integer from r',
    'select (sum(ul) * 1000)::varchar, sum(c)::varchar, avg(u)::varchar from r where u = 7',
  ])
    await bed.same(t, text)
  t.match(
    await bed.refusal("select * from r a left join r b on a.u = b.u and a.d::varchar || b.d::varchar = ''"),
    /the condition of a left join casts to strings/,
  )
})
