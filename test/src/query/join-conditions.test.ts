import t from 'tap'
import { LIMITS } from '../../../protocol/limits.js'
import { type Expression, JOIN_KINDS, type QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'
import { SQL_JOINS } from './sql-joins.js'

const col = (column: string): Expression => ({ column })
const opened = (async () => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const hosts = [
    randomRelation(random, 'r', 150),
    randomRelation(random, 'q', 70),
    randomRelation(random, 'none', 0),
  ]
  return QueryBed.open(t, hosts)
})()

type Matching = Pick<Extract<QueryNode, { op: 'join' }>, 'on' | 'band' | 'condition'>

const LESS: Expression = { op: '<', args: [col('l.ni'), col('r.ni')] }
const UNLIKE: Expression = {
  op: 'or',
  args: [
    { op: '<>', args: [col('l.ns'), col('r.ns')] },
    { op: 'isNull', args: [col('r.nul')] },
  ],
}
const NEVER: Expression = { op: '=', args: [col('l.u'), { value: -1 }] }

/** What joins go by, and the same in SQL. */
const MATCHINGS: readonly (readonly [Matching, string])[] = [
  [{ on: [['l.nu', 'r.nu']], condition: LESS }, '"l.nu" = "r.nu" and "l.ni" < "r.ni"'],
  [
    {
      on: [
        ['l.i', 'r.i'],
        ['l.ns', 'r.ns'],
      ],
      condition: { op: '>', args: [col('r.id'), { value: 30 }] },
    },
    '"l.i" = "r.i" and "l.ns" = "r.ns" and "r.id" > 30',
  ],
  [
    { band: { left: 'l.u', right: 'r.u', width: 2 }, condition: UNLIKE },
    '"r.u" between "l.u" and "l.u"::bigint + 2 and ("l.ns" <> "r.ns" or "r.nul" is null)',
  ],
  [{ condition: UNLIKE }, '"l.ns" <> "r.ns" or "r.nul" is null'],
  [{ on: [['l.s', 'r.s']], condition: NEVER }, '"l.s" = "r.s" and false'],
]

const sides = (left: string, right: string) => {
  return {
    left: { op: 'scan', relation: left, as: 'l' },
    right: { op: 'scan', relation: right, as: 'r' },
  } as const
}
const renamed = (relation: string, as: string) =>
  `(select ${['id', 'u', 'i', 's', 'nu', 'ni', 'ns', 'nul'].map((name) => `${name} as "${as}.${name}"`).join(', ')} from ${relation})`
const GIVEN = ['id', 'nu', 'ns', 'nul']

/** Without columns that are not compared. */
function picked(input: QueryNode, ...sides: readonly string[]): QueryNode {
  const names = sides.flatMap((side) => GIVEN.map((name) => `${side}.${name}`))
  return { op: 'project', input, columns: names.map((name) => ({ name, value: col(name) })) }
}

t.test('conditions of joins of all kinds', async (t) => {
  const bed = await opened
  const { queryPassBytes } = LIMITS
  t.teardown(() => Object.assign(LIMITS, { queryPassBytes }))
  Object.assign(LIMITS, { queryPassBytes: 8 * 700 })
  for (const [left, right, matchings] of [
    ['r', 'q', MATCHINGS],
    ['r', 'none', MATCHINGS.slice(2, 4)],
    ['none', 'q', MATCHINGS.slice(2, 4)],
  ] as const) {
    for (const [matching, sql] of matchings) {
      for (const kind of JOIN_KINDS) {
        const isHalf = kind === 'semi' || kind === 'anti'
        const given = isHalf ? ['l'] : ['l', 'r']
        const join: QueryNode = { op: 'join', ...sides(left, right), kind, ...matching }
        const list = given.flatMap((side) => GIVEN.map((name) => `"${side}.${name}"`)).join(', ')
        const from = `${renamed(left, 'l')} l ${SQL_JOINS[kind]} ${renamed(right, 'r')} r`
        await bed.same(
          t,
          `${left} ${kind} ${right} on ${sql}`,
          picked(join, ...given),
          `select ${list} from ${from} on ${sql}`,
        )
      }
      const mark: QueryNode = { op: 'join', ...sides(left, right), kind: 'mark', as: 'm', ...matching }
      const exists = `exists (select 1 from ${renamed(right, 'r')} where ${sql})`
      const query: QueryNode = {
        op: 'project',
        input: mark,
        columns: ['l.id', 'm'].map((name) => ({ name, value: col(name) })),
      }
      await bed.same(
        t,
        `marks of ${left} by ${right} on ${sql}`,
        query,
        `select "l.id", ${exists} from ${renamed(left, 'l')}`,
      )
    }
  }
})

t.test('marks without a condition, and what reads none of the columns', async (t) => {
  const bed = await opened
  const mark: QueryNode = { op: 'join', ...sides('r', 'q'), kind: 'mark', as: 'm', on: [['l.nu', 'r.nu']] }
  const marked: QueryNode = { op: 'where', input: mark, condition: col('m') }
  const count = (input: QueryNode): QueryNode => {
    return { op: 'groupBy', input, keys: [], aggregates: [{ name: 'n', function: 'count' }] }
  }
  await bed.same(t, 'marked', count(marked), 'select count(*) from r where nu in (select nu from q)')
  const full: QueryNode = {
    op: 'join',
    ...sides('r', 'q'),
    kind: 'full',
    on: [['l.nu', 'r.nu']],
    condition: LESS,
  }
  const on = 'r.nu = q.nu and r.ni < q.ni'
  await bed.same(t, 'count of a full join', count(full), `select count(*) from r full join q on ${on}`)
  const explained = await bed.explain(full)
  t.same(
    [explained.op, explained.inputs[0]!.op, explained.inputs[0]!.inputs[0]!.op],
    ['joinWhere', 'where', 'join'],
  )
})

t.test('what is refused says what is right', async (t) => {
  const bed = await opened
  const join = { op: 'join', ...sides('r', 'q') } as const
  await t.rejects(bed.rows(join), { message: /query: a join needs "on", .* a "band", or a "condition"/ })
  await t.rejects(bed.rows({ ...join, condition: col('l.s') }), {
    message: /query\.condition: a condition is needed/,
  })
  await t.rejects(
    bed.rows({ ...join, kind: 'semi', condition: { op: '=', args: [col('l.u'), col('nix')] } }),
    {
      message: /query\.condition\.args\[1\]: no column "nix"; the columns are l\.id.*r\.id/,
    },
  )
  await t.rejects(bed.rows({ ...join, kind: 'mark', on: [['l.u', 'r.u']] }), {
    message: /"as" must be a text/,
  })
  const overflow: Expression = {
    op: '>',
    args: [{ op: '*', args: [col('l.ul'), col('r.ul')] }, { value: 3 }],
  }
  await t.rejects(bed.rows({ ...join, kind: 'left', on: [['l.s', 'r.s']], condition: overflow }), {
    code: 'BAD_REQUEST',
    message: /query: a result of an expression does not fit its type/,
  })
})
