import t from 'tap'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { SOFTWARE_COSTS } from '../../../src/query/selection/default-costs.js'
import { openSharedDevice } from '../../gpu/open-device.js'
import { Random, seedOfRun } from '../../random.js'
import { openEngine } from '../engine/open-engine.js'
import { appendRelation, appendRows } from './append-relation.js'
import { type HostRelation, hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)
const device = await openSharedDevice(t)
/** With these an index pays for as few rows as a test has. */
const COSTS = {
  ...SOFTWARE_COSTS,
  gather: { word: 0.01, wide: 0.01 },
  write: 0.001,
  predicate: { ...SOFTWARE_COSTS.predicate, expression: 0.001 },
  launch: 0,
  roundTrip: 0,
}

/** Kernels are those of a structure and a width of keys, so that few are made. */
const [NARROW, WIDE] = random.chance(0.5) ? (['css', 'prefix'] as const) : (['prefix', 'css'] as const)

const col = (column: string): Expression => ({ column })
const is = (
  op: '=' | '<>' | '<' | '<=' | '>' | '>=',
  column: string,
  value: number | string,
): Expression => ({
  op,
  args: [col(column), { value }],
})
const and = (...args: Expression[]): Expression => ({ op: 'and', args })
const or = (...args: Expression[]): Expression => ({ op: 'or', args })

/** Conditions as trees and in SQL, with the index that they are to go through. */
const CASES: readonly (readonly [condition: Expression, sql: string, plan: RegExp])[] = [
  [is('=', 'u', 7), 'u = 7', /^index by u$/],
  [and(is('>=', 'i', -3), is('<', 'i', 2)), 'i >= -3 and i < 2', /^index by i$/],
  [and(is('=', 'f', 0), is('>', 'u', 3)), 'f = 0 and u > 3', /^index by f, then S1$/],
  [is('=', 'ul', 2 ** 30 * 3), 'ul = 3221225472', /^index by ul$/],
  [is('<', 'nil', 0), 'nil < 0', /^index by nil$/],
  [
    and({ op: 'startsWith', args: [col('s')], text: 'PROMO' }, { op: 'isNull', args: [col('nu')] }),
    "s like 'PROMO%' and nu is null",
    /^index by s, then S1$/,
  ],
  [and(is('=', 'nu', 4), is('<>', 's', 'ab')), "nu = 4 and s <> 'ab'", /^[SK]/],
  [and(is('=', 'nu', 4), is('>', 'i', 0)), 'nu = 4 and i > 0', /^index by nu and i$/],
  [and(is('=', 'id', 5), is('=', 'u', 3)), 'id = 5 and u = 3', /^index by/],
  [is('<>', 'f', 0), 'f <> 0', /^index by f$/],
  [is('>', 'nf', 1), 'nf > 1', /^S1$/],
  [{ op: 'isNull', args: [col('nil')] }, 'nil is null', /^S1$/],
  [
    or(and(is('=', 'u', 3), is('>', 'nf', 0)), and(is('=', 'u', 5), is('<', 'nf', 0))),
    '(u = 3 and nf > 0) or (u = 5 and nf < 0)',
    /^index by u, then S1$/,
  ],
]

/** The square of a number past 2^31 or so is a fault, and most in the column are; the planner thinks that it leaves few rows, and takes it first. */
const SQUARE: Expression = { op: '=', args: [{ op: '*', args: [col('il'), col('il')] }, { value: 0 }] }
const SMALL = [is('>', 'il', -(2 ** 32)), is('<', 'il', 2 ** 32)]

const INDEXES = [['u'], ['i'], ['f'], ['nf'], ['ul'], ['nil'], ['s'], ['nu', 'i']] as const

function structureOf([first, ...others]: readonly string[]) {
  return others.length > 0 || first === 's' || first!.endsWith('l') ? WIDE : NARROW
}

function joined(one: HostRelation, other: HostRelation): HostRelation {
  const columns = one.columns.map((column, i) => ({
    ...column,
    cells: [...column.cells, ...other.columns[i]!.cells],
  }))
  return hostRelation(one.name, columns)
}

t.test('selections through the indexes of their relation', async (t) => {
  const engine = await openEngine(t, { structures: prefixTrees, openDevice: async () => device })
  device.selectionCosts = COSTS
  const first = randomRelation(random, 'r', 900)
  const more = randomRelation(random, 'r', 150)
  await appendRelation(engine, first)
  const where = (condition: Expression): QueryNode => ({
    op: 'where',
    input: { op: 'scan', relation: 'r' },
    condition,
  })
  const check = async (bed: QueryBed, what: string, cases: typeof CASES, indexed: boolean) => {
    for (const [condition, sql, plan] of cases) {
      const query = where(condition)
      await bed.same(t, `${what}: ${sql}`, query, `select * from r where ${sql}`)
      const { plan: ran = '' } = (await bed.explain(query)).selection!
      t.match(ran, indexed ? plan : /^[SK]/, ran)
    }
    const [condition, sql] = random.pick(CASES)
    const counted: QueryNode = {
      op: 'groupBy',
      input: where(condition),
      keys: [],
      aggregates: [{ name: 'n', function: 'count' }],
    }
    await bed.same(t, `${what}: number of ${sql}`, counted, `select count(*) from r where ${sql}`)
  }
  const plain = await QueryBed.over(engine.queries, [first])
  t.teardown(() => plain.oracle.close())
  await check(plain, 'without indexes', [random.pick(CASES)], false)
  for (const columns of INDEXES) {
    const name = `by ${columns.join(' and ')}`
    await engine.createRelationIndex({ name, relation: 'r', columns, structure: structureOf(columns) })
  }
  await check(plain, 'with them', CASES, true)
  const { selection } = await plain.explain(where(CASES[2]![0]))
  const unseen = { cancelled: false, maySee: () => false }
  const hidden = await engine.queries.explain(where(CASES[2]![0]), unseen)
  t.equal(hidden.method, 'an index, then S1')
  t.notMatch(JSON.stringify(hidden), /by f/, 'who may not see an index is not told its name')
  const rows = Number((await plain.oracle.rows('select count(*) from r where f = 0'))[0]![0])
  t.match(selection, { index: { name: 'by f', conditions: [/f/], rows }, conditions: [/u/] })
  t.equal(selection!.alternatives[0]!.plan.length > 1, true, 'what it was chosen over')
  const guarded = where(and(SQUARE, is('=', 'f', 0), ...SMALL))
  await plain.same(t, 'faults left out', guarded, 'select * from r where f = 0 and il = 0')
  t.match((await plain.explain(guarded)).selection!.plan, /^index by f, then/)
  const faulty = where(and(SQUARE, is('=', 'f', 0)))
  await t.rejects(plain.rows(faulty), { code: 'BAD_REQUEST', message: /overflow/ }, 'faults found')
  await appendRows(engine, more)
  const appended = await QueryBed.over(engine.queries, [joined(first, more)])
  t.teardown(() => appended.oracle.close())
  await check(
    appended,
    'after an append',
    CASES.filter(() => random.chance(0.5)),
    true,
  )
})
