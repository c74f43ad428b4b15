import t from 'tap'
import type { ColumnType } from '../../../protocol/column-types.js'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'

const col = (column: string): Expression => ({ column })
const val = (value: number | string | boolean | null): Expression => ({ value })
const op = (
  name: '+' | '-' | '*' | '/' | '=' | '<>' | '<' | '<=' | '>' | '>=',
  a: Expression,
  b: Expression,
) => ({ op: name, args: [a, b] }) as const

const R: QueryNode = { op: 'scan', relation: 'r' }

/** Conditions on `r`, each with what it is in SQL. */
const CONDITIONS: readonly (readonly [sql: string, condition: Expression])[] = [
  ['u < 7', op('<', col('u'), val(7))],
  ['nu >= 7', op('>=', col('nu'), val(7))],
  ['not (nu >= 7)', { op: 'not', args: [op('>=', col('nu'), val(7))] }],
  ['i <= -3', op('<=', col('i'), val(-3))],
  ['i = u', op('=', col('i'), col('u'))],
  ['f > 0.75', op('>', col('f'), val(0.75))],
  ['nf <> f', op('<>', col('nf'), col('f'))],
  ['ul > 9663676416', op('>', col('ul'), val(9 * 2 ** 30))],
  ['nil < -1', op('<', col('nil'), val(-1))],
  ["s = 'ab'", op('=', col('s'), val('ab'))],
  ["s < 'aa'", op('<', col('s'), val('aa'))],
  ["s >= 'zz'", op('>=', col('s'), val('zz'))],
  ["ns <> 'b'", op('<>', col('ns'), val('b'))],
  ['ns = s', op('=', col('ns'), col('s'))],
  ['ns > s', op('>', col('ns'), col('s'))],
  ["starts_with(s, 'PROMO')", { op: 'startsWith', args: [col('s')], text: 'PROMO' }],
  ["contains(ns, 'O r')", { op: 'contains', args: [col('ns')], text: 'O r' }],
  ["suffix(ns, 'red')", { op: 'endsWith', args: [col('ns')], text: 'red' }],
  ["s in ('a', 'b', 'nowhere')", { op: 'in', args: [col('s'), val('a'), val('b'), val('nowhere')] }],
  ['nu is null', { op: 'isNull', args: [col('nu')] }],
  [
    'nu is null or ns is null and nf > 0',
    {
      op: 'or',
      args: [
        { op: 'isNull', args: [col('nu')] },
        { op: 'and', args: [{ op: 'isNull', args: [col('ns')] }, op('>', col('nf'), val(0))] },
      ],
    },
  ],
  [
    'nu < 5 and ni < 5 and nf < 1 and nul < 17179869184 and nil < 0 and u < 15',
    {
      op: 'and',
      args: [
        op('<', col('nu'), val(5)),
        op('<', col('ni'), val(5)),
        op('<', col('nf'), val(1)),
        op('<', col('nul'), val(17179869184)),
        op('<', col('nil'), val(0)),
        op('<', col('u'), val(15)),
      ],
    },
  ],
  [
    '(nu::bigint + 3) * 5 - i > u',
    op('>', op('-', op('*', op('+', col('nu'), val(3)), val(5)), col('i')), col('u')),
  ],
  ['i / 4.0 > f', op('>', op('/', col('i'), val(4)), col('f'))],
  ['true', val(true)],
  ['null', val(null)],
]

/** Columns computed from `r`, each with what it is in SQL. */
const VALUES: readonly (readonly [sql: string, value: Expression])[] = [
  ['u::bigint + ni', op('+', col('u'), col('ni'))],
  ['i::bigint * -3', op('*', col('i'), val(-3))],
  [
    '(u::ubigint) * (u::ubigint) - u + 1',
    op('+', op('-', op('*', cast('u', 'u64'), cast('u', 'u64')), col('u')), val(1)),
  ],
  ['nf * 2 + f', op('+', op('*', col('nf'), val(2)), col('f'))],
  ['case when i = 0 then null else nf / i end', op('/', col('nf'), col('i'))],
  ['il::float', cast('il', 'f32')],
  ['ul::float', cast('ul', 'f32')],
  ['ns', col('ns')],
  [
    "case when u < 5 then 'few' when ns = 'a' then null else ns end",
    {
      op: 'case',
      when: [
        { condition: op('<', col('u'), val(5)), value: val('few') },
        { condition: op('=', col('ns'), val('a')), value: val(null) },
      ],
      otherwise: col('ns'),
    },
  ],
  [
    "case when starts_with(s, 'PROMO') then u else 0 end",
    {
      op: 'case',
      when: [{ condition: { op: 'startsWith', args: [col('s')], text: 'PROMO' }, value: col('u') }],
      otherwise: val(0),
    },
  ],
  [
    'case when u < 5 then 1.5 when u < 9 then nu end',
    {
      op: 'case',
      when: [
        { condition: op('<', col('u'), val(5)), value: val(1.5) },
        { condition: op('<', col('u'), val(9)), value: col('nu') },
      ],
    },
  ],
  ['nu < 3 or null', { op: 'or', args: [op('<', col('nu'), val(3)), val(null)] }],
  ["'text'", val('text')],
  ['null', val(null)],
]

function cast(column: string, type: ColumnType): Expression {
  return { op: 'cast', args: [col(column)], type }
}

t.test('expressions are what they are in SQL', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const bed = await QueryBed.open(t, [randomRelation(random, 'r', 400), randomRelation(random, 'none', 0)])
  for (const [sql, condition] of CONDITIONS) {
    await bed.same(t, sql, { op: 'where', input: R, condition }, `select * from r where ${sql}`)
  }
  const columns = VALUES.map(([, value], i) => ({ name: `c${i}`, value }))
  const few: QueryNode = { op: 'where', input: R, condition: op('<', col('u'), val(2 ** 31)) }
  const list = VALUES.map(([sql]) => sql).join(', ')
  await bed.same(
    t,
    list,
    { op: 'project', input: few, columns },
    `select ${list} from r where u < 2147483648`,
  )
  const none: QueryNode = { op: 'scan', relation: 'none' }
  await bed.same(t, 'none', { op: 'project', input: none, columns }, `select ${list} from none`)
  const limited: QueryNode = { op: 'limit', input: few, rows: 40, offset: 13 }
  const sql = 'select * from r where u < 2147483648 order by id limit 40 offset 13'
  await bed.same(t, 'limit', limited, sql, true)
  await bed.same(t, 'past the end', { op: 'limit', input: R, offset: 395 }, 'select * from r offset 395')
  const overflow = op('*', op('*', col('il'), col('il')), col('il'))
  await t.rejects(bed.rows({ op: 'project', input: R, columns: [{ name: 'x', value: overflow }] }), {
    code: 'BAD_REQUEST',
    message: /^query: .*overflow/,
  })
  const guarded: Expression = {
    op: 'case',
    when: [{ condition: op('<', cast('il', 'f32'), val(1e30)), value: val(1) }],
    otherwise: overflow,
  }
  await bed.same(
    t,
    'not taken',
    { op: 'project', input: R, columns: [{ name: 'x', value: guarded }] },
    'select 1 from r',
  )
})
