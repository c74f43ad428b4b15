import t from 'tap'
import type { Aggregate, Expression, QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'

const col = (column: string): Expression => ({ column })
const scan = (relation: string): QueryNode => ({ op: 'scan', relation })
const opened = (async () => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  return QueryBed.open(t, [randomRelation(random, 'r', 400), randomRelation(random, 'none', 0)])
})()

const COUNTED = ['u', 'nf', 'nil', 'ns', 'nc']
const TAKEN = ['ni', 'ul', 'ns', 'nb', 'nt']
const MORE: Expression = { op: '+', args: [col('ni'), { value: 7 }] }

/** Aggregates of some rows of each group beside some of all, and the same in SQL. */
const AGGREGATES: readonly (readonly [sql: string, aggregate: Omit<Aggregate, 'name'>])[] = [
  ['count(*)', { function: 'count' }],
  ...COUNTED.map((name) => {
    return [`count(distinct ${name})`, { function: 'count', distinct: true, value: col(name) }] as const
  }),
  ...TAKEN.map((name) => {
    return [`first(${name} order by id)`, { function: 'first', value: col(name) }] as const
  }),
  ['count(ni)', { function: 'count', value: col('ni') }],
  ['count(distinct ni::bigint + 7)', { function: 'count', distinct: true, value: MORE }],
  ['sum(distinct u)', { function: 'sum', distinct: true, value: col('u') }],
  ['sum(distinct nc)', { function: 'sum', distinct: true, value: col('nc') }],
  ['avg(distinct u)', { function: 'avg', distinct: true, value: col('u') }],
  ['median(ni)', { function: 'median', value: col('ni') }],
  [
    'median(case when nf < 100 and nf > -100 then nf end)::double',
    { function: 'median', value: small('nf') },
  ],
]

function small(name: string): Expression {
  const within: Expression = {
    op: 'and',
    args: [
      { op: '<', args: [col(name), { value: 100 }] },
      { op: '>', args: [col(name), { value: -100 }] },
    ],
  }
  return { op: 'case', when: [{ condition: within, value: col(name) }] }
}

const aggregates = AGGREGATES.map(([, aggregate], i) => ({ name: `a${i}`, ...aggregate }))
const list = AGGREGATES.map(([sql]) => sql).join(', ')
const keys = (...names: string[]) => names.map((name) => ({ name, value: col(name) }))

t.test('aggregates of different values, of the middle and of the first row', async (t) => {
  const bed = await opened
  for (const by of [['ns'], ['b', 'nu']]) {
    const query: QueryNode = { op: 'groupBy', input: scan('r'), keys: keys(...by), aggregates }
    await bed.same(t, `by ${by}`, query, `select ${by.join(', ')}, ${list} from r group by ${by.join(', ')}`)
  }
  for (const from of ['r', 'none']) {
    const query: QueryNode = { op: 'groupBy', input: scan(from), keys: [], aggregates }
    await bed.same(t, `all of ${from}`, query, `select ${list} from ${from}`)
  }
  const none: QueryNode = { op: 'groupBy', input: scan('none'), keys: keys('s'), aggregates }
  await bed.same(t, 'groups of none', none, `select s, ${list} from none group by s`)
})

t.test('of chosen rows, of rows in an order, and where only some are read', async (t) => {
  const bed = await opened
  const [some, sql] = [
    aggregates.slice(0, 6),
    AGGREGATES.slice(0, 6)
      .map(([text]) => text)
      .join(', '),
  ]
  const chosen: QueryNode = {
    op: 'where',
    input: scan('r'),
    condition: { op: '>', args: [col('i'), { value: 0 }] },
  }
  const ordered: QueryNode = {
    op: 'orderBy',
    input: chosen,
    by: [{ column: 'ns', descending: true }, { column: 'nil' }],
  }
  for (const input of [chosen, ordered]) {
    const query: QueryNode = { op: 'groupBy', input, keys: keys('ns'), aggregates: some }
    await bed.same(t, input.op, query, `select ns, ${sql} from r where i > 0 group by ns`)
    const read: QueryNode = { op: 'project', input: query, columns: keys('a3') }
    await bed.same(t, 'one', read, 'select count(distinct nil) from r where i > 0 group by ns')
  }
  const last: QueryNode = {
    op: 'groupBy',
    input: { op: 'orderBy', input: scan('r'), by: [{ column: 'id', descending: true }] },
    keys: keys('u'),
    aggregates: [{ name: 'last', function: 'first', value: col('id') }],
  }
  await bed.same(t, 'first in an order', last, 'select u, max(id) from r group by u')
})

t.test('what is refused says what is right', async (t) => {
  const bed = await opened
  const asked = (aggregate: Omit<Aggregate, 'name'>): QueryNode => {
    return { op: 'groupBy', input: scan('r'), keys: [], aggregates: [{ name: 'a', ...aggregate }] }
  }
  await t.rejects(bed.rows(asked({ function: 'count', distinct: true })), {
    message: /query\.aggregates\[0\]: a distinct "count" needs a "value"/,
  })
  await t.rejects(bed.rows(asked({ function: 'median', value: col('s') })), {
    message: /there is no median of string/,
  })
  await t.rejects(bed.rows(asked({ function: 'first' })), { message: /"first" needs a "value"/ })
})
