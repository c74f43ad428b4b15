import t from 'tap'
import type { ColumnType } from '../../../protocol/column-types.js'
import type { Aggregate, Expression, QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'

const col = (column: string): Expression => ({ column })
const val = (value: number | string | boolean, type?: ColumnType): Expression => ({ value, type })
const op = (name: '+' | '-' | '*' | '=' | '<>' | '<' | '<=' | '>' | '>=', a: Expression, b: Expression) =>
  ({ op: name, args: [a, b] }) as const

const R: QueryNode = { op: 'scan', relation: 'r' }
const [DAY, MOMENT] = ['1997-05-24', '1970-01-01T03:00:00.000003Z']

const CONDITIONS: readonly (readonly [sql: string, condition: Expression])[] = [
  ['b', col('b')],
  ['nb = false', op('=', col('nb'), val(false))],
  [`d < date '${DAY}'`, op('<', col('d'), val(DAY))],
  [`nd = date '${DAY}'`, op('=', col('nd'), val(DAY, 'date'))],
  [`d in (date '${DAY}', date '1997-05-20')`, { op: 'in', args: [col('d'), val(DAY), val('1997-05-20')] }],
  ['nd >= d', op('>=', col('nd'), col('d'))],
  [`t <= timestamp '${MOMENT.slice(0, -1)}'`, op('<=', col('t'), val(MOMENT))],
  ["nt > date '1970-01-01'", op('>', col('nt'), val('1970-01-01', 'timestamp'))],
  ['nd < t', op('<', col('nd'), col('t'))],
  ['c = 1.25', op('=', col('c'), val(1.25))],
  ['c > 1.245', op('>', col('c'), val(1.245))],
  ['nc <> -3', op('<>', col('nc'), val(-3))],
  ['c < e', op('<', col('c'), col('e'))],
  ['nc > u', op('>', col('nc'), col('u'))],
  ["ne >= '0.0125'", op('>=', col('ne'), val('0.0125'))],
  ['g < 1.0 / 3', op('<', col('g'), val(1 / 3, 'f64'))],
  ['ng = 2', op('=', col('ng'), val(2))],
  ['ng <> g', op('<>', col('ng'), col('g'))],
]

const VALUES: readonly (readonly [sql: string, value: Expression])[] = [
  ['c + e', op('+', col('c'), col('e'))],
  ['1 - nc', op('-', val(1), col('nc'))],
  ['c * (1 - e)', op('*', col('c'), op('-', val(1), col('e')))],
  ['nc * 1.07', op('*', col('nc'), val(1.07))],
  ['c * 3', op('*', col('c'), val(3))],
  ['c::decimal(14,4)', { op: 'cast', args: [col('c')], type: 'decimal(14,4)' }],
  ['d::timestamp', { op: 'cast', args: [col('d')], type: 'timestamp' }],
  ["date '1998-09-02'", val('1998-09-02', 'date')],
  ["'19.04'::decimal(9,2)", val('19.04', 'decimal(9,2)')],
]

const NEW_TYPES = ['b', 'd', 't', 'c', 'e', 'g']

t.test(
  'values of all types are compared, computed, grouped, ordered and joined as DuckDB does',
  async (t) => {
    const seed = seedOfRun()
    t.comment(`TEST_SEED=${seed}`)
    const random = new Random(seed)
    const bed = await QueryBed.open(t, [randomRelation(random, 'r', 400), randomRelation(random, 'o', 60)])
    for (const [sql, condition] of CONDITIONS)
      await bed.same(t, sql, { op: 'where', input: R, condition }, `select * from r where ${sql}`)
    const columns = VALUES.map(([, value], i) => ({ name: `c${i}`, value }))
    const list = VALUES.map(([sql]) => sql).join(', ')
    await bed.same(t, list, { op: 'project', input: R, columns }, `select ${list} from r`)
    for (const name of NEW_TYPES) {
      const value = col(`n${name}`)
      const aggregates: Aggregate[] = [
        { name: 'least', function: 'min', value },
        { name: 'most', function: 'max', value },
        { name: 'rows', function: 'count', value },
        ...(name === 'c' || name === 'e' ? [{ name: 'sum', function: 'sum', value } as const] : []),
      ]
      const sums = aggregates.length > 3 ? `, sum(n${name})` : ''
      const what = `min(n${name}), max(n${name}), count(n${name})${sums}`
      for (const keys of [[], [name]]) {
        await bed.same(
          t,
          `${what} by ${keys}`,
          { op: 'groupBy', input: R, keys: keys.map((key) => ({ name: key, value: col(key) })), aggregates },
          `select ${[...keys, what].join(', ')} from r ${keys.length > 0 ? `group by ${name}` : ''}`,
        )
      }
      const by = [{ column: `n${name}`, descending: name === 'd' }, { column: 'id' }]
      const ordered: QueryNode = { op: 'limit', input: { op: 'orderBy', input: R, by }, rows: 100 }
      const order = `n${name} ${name === 'd' ? 'desc' : 'asc'} nulls last, id`
      await bed.same(t, `order by ${name}`, ordered, `select * from r order by ${order} limit 100`, true)
      const other: QueryNode = {
        op: 'project',
        input: { op: 'scan', relation: 'o' },
        columns: [{ name: 'x', value: col(name) }],
      }
      await bed.same(
        t,
        `join by ${name}`,
        { op: 'join', left: { op: 'limit', input: R, rows: 100 }, right: other, on: [[`n${name}`, 'x']] },
        `select l.*, o.${name} from (select * from r order by id limit 100) l join o on l.n${name} = o.${name}`,
      )
    }
  },
)

t.test('digits that a decimal lacks fail the query', async (t) => {
  const bed = await QueryBed.open(t, [randomRelation(new Random(1), 'r', 10)])
  const large = op('*', col('e'), val('90000000000000', 'decimal(14,0)'))
  const columns = [{ name: 'x', value: op('*', large, val(100)) }]
  await t.rejects(bed.rows({ op: 'project', input: R, columns }), { message: /overflow/ })
  for (const [value, message] of [
    [val('1998-02-29', 'date'), /of type date/],
    [val('1.234', 'decimal(9,2)'), /of type decimal/],
    [val('x', 'decimal(40,2)'), /"type" must be one of/],
    [op('*', col('d'), val(1)), /date/],
  ] as const) {
    await t.rejects(bed.rows({ op: 'project', input: R, columns: [{ name: 'x', value }] }), { message })
  }
})
