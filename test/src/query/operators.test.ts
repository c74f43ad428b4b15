import t from 'tap'
import type { Aggregate, Expression, JoinKind, QueryNode, SortColumn } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'
import { randomColumn, randomRelation } from './relations.js'
import { SQL_JOINS } from './sql-joins.js'

const col = (column: string): Expression => ({ column })
const scan = (relation: string, as?: string): QueryNode => ({ op: 'scan', relation, as })
const keys = (...names: string[]) => names.map((name) => ({ name, value: col(name) }))
const pick = (input: QueryNode, ...names: string[]): QueryNode => ({
  op: 'project',
  input,
  columns: keys(...names),
})
const R = scan('r')

const opened = (async () => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const skewed = hostRelation('skewed', [
    {
      ...randomColumn(random, 'k', 'u32', 300, 0),
      cells: Array.from({ length: 300 }, () => (random.chance(0.9) ? 7 : random.below(40))),
    },
    randomColumn(random, 'v', 'i64', 300, 0.1),
  ])
  return QueryBed.open(t, [
    randomRelation(random, 'r', 1100),
    randomRelation(random, 'q', 200),
    randomRelation(random, 'none', 0),
    skewed,
  ])
})()

const AGGREGATES: readonly (readonly [sql: string, aggregate: Omit<Aggregate, 'name'>])[] = [
  ['count(*)', { function: 'count' }],
  ['count(nf)', { function: 'count', value: col('nf') }],
  ['sum(u)', { function: 'sum', value: col('u') }],
  ['sum(ni)', { function: 'sum', value: col('ni') }],
  ['sum(case when il > -1e12 and il < 1e12 then il end)', { function: 'sum', value: sane('il') }],
  ['sum(case when abs(nf) < 100 then nf end)', { function: 'sum', value: sane('nf') }],
  ['min(i)', { function: 'min', value: col('i') }],
  ['max(nul)', { function: 'max', value: col('nul') }],
  ['min(nil)', { function: 'min', value: col('nil') }],
  ['max(nf)', { function: 'max', value: col('nf') }],
  ['min(ns)', { function: 'min', value: col('ns') }],
  ['max(s)', { function: 'max', value: col('s') }],
  ['avg(u)', { function: 'avg', value: col('u') }],
  ['avg(case when abs(nf) < 100 then nf end)', { function: 'avg', value: sane('nf') }],
]

/** A column without its extremes, whose sums neither 64 bits nor a tolerance would hold. */
function sane(column: string): Expression {
  const bound = { value: column === 'il' ? 1e12 : 100 }
  const least = { value: -bound.value }
  const within: Expression = {
    op: 'and',
    args: [
      { op: '<', args: [{ column }, bound] },
      { op: '>', args: [{ column }, least] },
    ],
  }
  return { op: 'case', when: [{ condition: within, value: { column } }] }
}

t.test('groups and their aggregates', async (t) => {
  const bed = await opened
  const aggregates = AGGREGATES.map(([, aggregate], i) => ({ name: `a${i}`, ...aggregate }))
  const list = AGGREGATES.map(([sql]) => sql).join(', ')
  for (const by of [['s'], ['ns'], ['u', 'nil', 'ns'], ['nul', 'nil', 'ul']]) {
    const sql = `select ${by.join(', ')}, ${list} from r group by ${by.join(', ')}`
    await bed.same(t, `by ${by}`, { op: 'groupBy', input: R, keys: keys(...by), aggregates }, sql)
  }
  for (const from of ['r', 'none']) {
    const query: QueryNode = { op: 'groupBy', input: scan(from), keys: [], aggregates }
    await bed.same(t, `all of ${from}`, query, `select ${list} from ${from}`)
  }
  const none: QueryNode = { op: 'groupBy', input: scan('none'), keys: keys('s'), aggregates }
  await bed.same(t, 'groups of none', none, `select s, ${list} from none group by s`)
})

t.test('order, nulls and distinct rows', async (t) => {
  const bed = await opened
  const orders: readonly (readonly SortColumn[])[] = [
    [{ column: 'nf', descending: true }, { column: 'id' }],
    [
      { column: 'ns', nulls: 'first' },
      { column: 'nil', descending: true, nulls: 'first' },
      { column: 'id', descending: true },
    ],
    [
      { column: 'i' },
      { column: 'nul' },
      { column: 'nu', nulls: 'first' },
      { column: 'f', descending: true },
      { column: 'id' },
    ],
  ]
  for (const by of orders) {
    const list = by
      .map(
        ({ column, descending, nulls }) =>
          `${column} ${descending ? 'desc' : 'asc'} nulls ${nulls ?? 'last'}`,
      )
      .join(', ')
    await bed.same(t, list, { op: 'orderBy', input: R, by }, `select * from r order by ${list}`, true)
  }
  await bed.same(
    t,
    'distinct',
    { op: 'distinct', input: pick(R, 'nu', 'ns') },
    'select distinct nu, ns from r',
  )
  await bed.same(t, 'distinct none', { op: 'distinct', input: scan('none') }, 'select * from none')
})

t.test('set operators by whole row', async (t) => {
  const bed = await opened
  const columns = ['ns', 'nu']
  const left = pick(R, ...columns)
  for (const op of ['union', 'intersect', 'except'] as const) {
    for (const all of [false, true]) {
      for (const from of ['q', 'none']) {
        const right = pick(scan(from), ...columns)
        const list = `select ${columns} from`
        const sql = `${list} r ${op} ${all ? 'all' : ''} ${list} ${from}`
        await bed.same(t, sql, { op, left, right, all }, sql)
        const swapped = `${list} ${from} ${op} ${all ? 'all' : ''} ${list} r`
        await bed.same(t, swapped, { op, left: right, right: left, all }, swapped)
      }
    }
  }
})

t.test('set operators by key', async (t) => {
  const bed = await opened
  const left = pick(R, 'u', 's')
  const right = pick(scan('q'), 'u', 's')
  const byKey = ['u']
  const list = 'select u, s from'
  await bed.same(
    t,
    'intersect',
    { op: 'intersect', left, right, byKey },
    `${list} r where u in (select u from q)`,
  )
  await bed.same(
    t,
    'except',
    { op: 'except', left, right, byKey },
    `${list} r where u not in (select u from q)`,
  )
  const union = `${list} r union all ${list} q where u not in (select u from r)`
  await bed.same(t, 'union', { op: 'union', left, right, byKey }, union)
})

t.test('a union to which a side adds nothing is there for as long as it is read', async (t) => {
  const bed = await opened
  const left = pick({ op: 'distinct', input: R }, 'i', 's')
  const none = pick(scan('none'), 'i', 's')
  for (const [how, right] of [
    [{ all: true }, none],
    [{ byKey: ['i'] }, pick(R, 'i', 's')],
    [{ byKey: ['i'] }, none],
  ] as const) {
    const union: QueryNode = { op: 'union', left, right, ...how }
    await bed.same(t, JSON.stringify(how), { op: 'distinct', input: union }, 'select distinct i, s from r')
  }
})

t.test('joins of every kind', async (t) => {
  const bed = await opened
  const first: Expression = { op: '<', args: [col('l.id'), { value: 200 }] }
  const left: QueryNode = { op: 'where', input: scan('r', 'l'), condition: first }
  const right = scan('q', 'q')
  const shown = (kind: JoinKind) => (kind === 'semi' || kind === 'anti' ? ['l.id'] : ['l.id', 'q.id', 'q.ns'])
  const conditions = [['nu'], ['ns'], ['nil'], ['nf'], ['s', 'u'], ['nul', 'nil', 'ns']]
  for (const [i, names] of conditions.entries()) {
    for (const kind of Object.keys(SQL_JOINS) as JoinKind[]) {
      if (i > 0 && kind !== 'full' && kind !== 'anti') continue
      const on = names.map((name) => [`l.${name}`, `q.${name}`] as const)
      const list = shown(kind)
      const query = pick({ op: 'join', left, right, kind, on }, ...list)
      const condition = names.map((name) => `l.${name} = q.${name}`).join(' and ')
      const from = `(select * from r where id < 200) l ${SQL_JOINS[kind]} q on ${condition}`
      await bed.same(t, `${kind} on ${names}`, query, `select ${list} from ${from}`)
    }
  }
})

t.test('joins with nothing, with skew, by a band, and products', async (t) => {
  const bed = await opened
  for (const kind of ['left', 'full', 'inner', 'anti'] as const) {
    const query: QueryNode = {
      op: 'join',
      left: pick(scan('q', 'q'), 'q.id', 'q.u'),
      right: pick(scan('none', 'n'), 'n.u', 'n.ns'),
      kind,
      on: [['q.u', 'n.u']],
    }
    const list = kind === 'anti' ? 'q.id, q.u' : 'q.id, q.u, n.u, n.ns'
    await bed.same(
      t,
      `${kind} with nothing`,
      query,
      `select ${list} from q ${SQL_JOINS[kind]} none n on q.u = n.u`,
    )
  }
  const skewed: QueryNode = {
    op: 'join',
    left: scan('skewed', 'a'),
    right: scan('skewed', 'b'),
    on: [['a.k', 'b.k']],
  }
  await bed.same(
    t,
    'skewed',
    pick(skewed, 'a.v', 'b.v'),
    'select a.v, b.v from skewed a join skewed b on a.k = b.k',
  )
  const band: QueryNode = {
    op: 'join',
    left: scan('q', 'a'),
    right: scan('q', 'b'),
    band: { left: 'a.ni', right: 'b.ni', width: 2 },
  }
  await bed.same(
    t,
    'band',
    pick(band, 'a.id', 'b.id'),
    'select a.id, b.id from q a join q b on b.ni between a.ni and a.ni::bigint + 2',
  )
  const product: QueryNode = {
    op: 'product',
    left: pick(scan('q', 'a'), 'a.id'),
    right: pick(scan('q', 'b'), 'b.ns'),
  }
  await bed.same(t, 'product', { op: 'limit', input: product }, 'select a.id, b.ns from q a, q b')
  await bed.same(
    t,
    'product with nothing',
    { op: 'product', left: scan('q', 'a'), right: scan('none') },
    'select * from q, none',
  )
})
