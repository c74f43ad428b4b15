import t from 'tap'
import { col } from '../../../clients/sdk/query/value.js'
import type { ColumnType } from '../../../protocol/column-types.js'
import type { QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { hostRelation } from './host-relation.js'
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
      message: /a string that is cast is no value/,
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
      /"\|\|" of a column with 2250000 different strings, or two with as many pairs; 2097152 are allowed/,
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
    [col('u').as('string'), /u32 cannot be cast to string/],
  ] as const) {
    await t.rejects(
      bed.rows({ op: 'project', input: R, columns: [{ name: 'x', value: value.expression }] }),
      {
        message,
      },
    )
  }
})
