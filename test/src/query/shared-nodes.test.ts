import t from 'tap'
import { toWarpdexError } from '../../../protocol/errors.js'
import type { QueryExplanation } from '../../../protocol/query/explanation.js'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const HOSTS = ['r', 'q'].map((name) => randomRelation(new Random(seed), name, name === 'r' ? 3000 : 200))

const col = (column: string): Expression => ({ column })

/** Rows of `r` whose names differ, so that nothing but what it does is the same. */
const chosen = (as: string): QueryNode => ({
  op: 'where',
  input: { op: 'scan', relation: 'r', as },
  condition: { op: '<', args: [col(`${as}.u`), { value: 12 }] },
})
const CHOSEN = '(select * from r where u < 12)'

/** A group for each `i` of them. */
const groups = (as: string): QueryNode => ({
  op: 'groupBy',
  input: chosen(as),
  keys: [{ name: `${as}.key`, value: col(`${as}.i`) }],
  aggregates: [{ name: `${as}.n`, function: 'count' }],
})

const pick = (input: QueryNode, ...names: string[]): QueryNode => ({
  op: 'project',
  input,
  columns: names.map((name, i) => ({ name: `c${i}`, value: col(name) })),
})

const joined: QueryNode = {
  op: 'join',
  left: chosen('a'),
  right: groups('b'),
  on: [['a.i', 'b.key']],
}

const QUERIES: readonly (readonly [name: string, query: QueryNode, sql: string])[] = [
  [
    'a group of each of its rows',
    pick(joined, 'a.s', 'a.nf', 'b.n'),
    `select a.s, a.nf, b.n from ${CHOSEN} a join (select i, count(*) n from ${CHOSEN} group by i) b on a.i = b.i`,
  ],
  [
    'itself, of which sides need unlike columns',
    pick(
      { op: 'join', left: groups('a'), right: groups('b'), on: [['a.n', 'b.n']], kind: 'left' },
      'a.key',
      'b.n',
    ),
    `with g as (select i, count(*) n from ${CHOSEN} group by i) select a.i, b.n from g a left join g b on a.n = b.n`,
  ],
  [
    'one within another that is there twice, too',
    {
      op: 'union',
      left: pick(joined, 'a.i', 'b.n'),
      right: {
        op: 'except',
        left: pick(joined, 'a.i', 'b.n'),
        right: pick(groups('c'), 'c.key', 'c.n'),
      },
      all: true,
    },
    `with j as (select a.i, b.n from ${CHOSEN} a join (select i, count(*) n from ${CHOSEN} group by i) b on a.i = b.i) select * from j union all (select * from j except select i, count(*) from ${CHOSEN} group by i)`,
  ],
  [
    'a condition on its pairs',
    pick(
      {
        op: 'join',
        left: chosen('a'),
        right: groups('b'),
        kind: 'semi',
        on: [['a.i', 'b.key']],
        condition: { op: '<', args: [col('a.u'), { op: 'cast', args: [col('b.n')], type: 'i64' }] },
      },
      'a.u',
      'a.ns',
    ),
    `select u, ns from ${CHOSEN} a where exists (select * from (select i, count(*) n from ${CHOSEN} group by i) b where b.i = a.i and a.u < b.n)`,
  ],
]

t.test('what is in a tree twice runs once, and gives what it would give each time', async (t) => {
  const bed = await QueryBed.open(t, HOSTS)
  for (const [name, query, sql] of QUERIES) {
    await bed.same(t, name, query, sql)
    const steps = stepsOf(await bed.explain(query))
    t.equal(steps.filter(({ op }) => op === 'scan').length, 1, `${name}: rows are chosen once`)
    const again = steps.filter(({ method }) => method?.startsWith('as query.'))
    t.ok(again.length > 0 && again.every(({ tables }) => tables === 0), `${name}: and taken again`)
  }
})

t.test('with any bound of memory it is made once, once more, or refused', async (t) => {
  const [[name, query, sql]] = QUERIES as [(typeof QUERIES)[number]]
  const refusals: string[] = []
  for (let bytes = 2 ** 16; bytes <= 2 ** 19; bytes *= 1.6) {
    const bed = await QueryBed.open(t, HOSTS, Math.round(bytes))
    try {
      await bed.same(t, `${name} with ${Math.round(bytes)} bytes`, query, sql)
    } catch (thrown) {
      refusals.push(toWarpdexError(thrown).code)
    }
  }
  t.ok(refusals.length > 0 && refusals.every((code) => code === 'TOO_LARGE'), refusals.join())
})

function stepsOf(step: QueryExplanation): QueryExplanation[] {
  return [step, ...step.inputs.flatMap(stepsOf)]
}
