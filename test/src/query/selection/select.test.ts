import t from 'tap'
import type { Expression, QueryNode } from '../../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../../random.js'
import { type HostColumn, hostRelation } from '../host-relation.js'
import { QueryBed } from '../query-bed.js'

/** Enough for a sample. */
const ROWS = 70_000

const col = (column: string): Expression => ({ column })
const val = (value: number | string): Expression => ({ value })
const less = (column: string, value: number): Expression => ({ op: '<', args: [col(column), val(value)] })
const at = (column: string, value: number): Expression => ({ op: '>=', args: [col(column), val(value)] })
const and = (...args: Expression[]): Expression => ({ op: 'and', args })
const or = (...args: Expression[]): Expression => ({ op: 'or', args })

/** Columns a and b go together, c has nothing to do with them. */
function columnsOf(random: Random): HostColumn[] {
  const cells = (make: (row: number) => HostColumn['cells'][number]) =>
    Array.from({ length: ROWS }, (_, row) => make(row))
  const a = cells(() => random.below(1000))
  const words = ['apple pie', 'apple', 'cherry pie', 'plum', 'zebra']
  return [
    { name: 'id', type: 'u32', nullable: false, cells: cells((row) => row) },
    { name: 'a', type: 'u32', nullable: false, cells: a },
    {
      name: 'b',
      type: 'i64',
      nullable: true,
      cells: a.map((value) => (random.chance(0.1) ? null : BigInt(Number(value)) - 500n)),
    },
    { name: 'c', type: 'f32', nullable: false, cells: cells(() => Math.fround(random.below(1000) / 8)) },
    {
      name: 's',
      type: 'string',
      nullable: true,
      cells: cells(() => (random.chance(0.2) ? null : random.pick(words))),
    },
  ]
}

const CONDITIONS: readonly (readonly [sql: string, condition: Expression])[] = [
  ['a < 100', less('a', 100)],
  ['a < 100 and b < -450 and c < 60', and(less('a', 100), less('b', -450), less('c', 60))],
  [
    "a < 700 and c < 5 and s = 'plum'",
    and(less('a', 700), less('c', 5), { op: '=', args: [col('s'), val('plum')] }),
  ],
  ["s like '%pie' and a < 50", and({ op: 'endsWith', args: [col('s')], text: 'pie' }, less('a', 50))],
  [
    "not contains(s, 'pl') and c >= 120",
    and({ op: 'not', args: [{ op: 'contains', args: [col('s')], text: 'pl' }] }, at('c', 120)),
  ],
  [
    '(a < 20 and c < 60) or (a >= 980 and b < 490)',
    or(and(less('a', 20), less('c', 60)), and(at('a', 980), less('b', 490))),
  ],
  [
    'a + b > 900 and c < 10',
    and(
      {
        op: '>',
        args: [{ op: '+', args: [{ op: 'cast', args: [col('a')], type: 'i64' }, col('b')] }, val(900)],
      },
      less('c', 10),
    ),
  ],
  ['a < 5 and a > 7', and(less('a', 5), at('a', 8))],
  ['b is null or b < -499', or({ op: 'isNull', args: [col('b')] }, less('b', -499))],
]

t.test('planned selections give what the oracle gives', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const bed = await QueryBed.open(t, [hostRelation('r', columnsOf(random))], undefined, true)
  const input: QueryNode = { op: 'scan', relation: 'r' }
  for (const [sql, condition] of CONDITIONS) {
    await bed.same(t, sql, { op: 'where', input, condition }, `select * from r where ${sql}`)
    const counted: QueryNode = {
      op: 'groupBy',
      input: { op: 'where', input, condition },
      keys: [],
      aggregates: [{ name: 'n', function: 'count' }],
    }
    await bed.same(t, `count, ${sql}`, counted, `select count(*) from r where ${sql}`)
    const [wanted] = await bed.rows(counted)
    const explanation = await bed.explain({ op: 'where', input, condition })
    const { rows, estimatedRows, selection } = explanation
    t.equal(BigInt(rows), BigInt(wanted![0] as bigint))
    if (sql.startsWith('a + b')) continue
    const tolerance = 40 + 5 * Math.sqrt(rows * (ROWS / 4096))
    t.ok(Math.abs(rows - estimatedRows) <= tolerance, `${sql}: ${estimatedRows} estimated, ${rows} rows`)
    if (selection !== undefined) t.equal(selection.kernels.at(-1)!.rows, rows)
  }
  const explanation = await bed.explain({ op: 'where', input, condition: CONDITIONS[1]![1] })
  t.match(explanation.selection, {
    plan: /^[SK]\d+/,
    conditions: { length: 3 },
    kernels: [{ plan: /^S/, gives: /rows|columns/ }],
    alternatives: [{ plan: /^[SK]/ }, { plan: /^[SK]/ }],
  })
  t.same([...explanation.selection!.conditions].sort(), ['a <= 99', 'b <= -451', 'c < 60'])
  t.equal(explanation.method, explanation.selection!.plan)
})

t.test('conditions on what joins give', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const keys = Array.from({ length: 300 }, (_, i) => i * 3)
  const few: HostColumn[] = [
    { name: 'k', type: 'u32', nullable: false, cells: keys },
    {
      name: 'v',
      type: 'i32',
      nullable: true,
      cells: keys.map(() => (random.chance(0.2) ? null : random.below(9) - 4)),
    },
  ]
  const hosts = [hostRelation('r', columnsOf(random)), hostRelation('q', few)]
  const bed = await QueryBed.open(t, hosts, undefined, true)
  const left: QueryNode = { op: 'where', input: { op: 'scan', relation: 'r' }, condition: less('id', 5000) }
  const joined: QueryNode = {
    op: 'join',
    kind: 'left',
    left,
    right: { op: 'scan', relation: 'q' },
    on: [['a', 'k']],
  }
  const from = 'from (select * from r where id < 5000) left join q on a = k'
  const missing: Expression = { op: 'isNull', args: [col('v')] }
  for (const [sql, condition] of [
    ['v is null and c < 10', and(missing, less('c', 10))],
    ['v < 2 and b < -100', and(less('v', 2), less('b', -100))],
    ['not (v >= 2 and c < 60)', { op: 'not', args: [and(at('v', 2), less('c', 60))] }],
    ['v < 0 or (k >= 500 and c < 60)', or(less('v', 0), and(at('k', 500), less('c', 60)))],
  ] as const) {
    await bed.same(t, sql, { op: 'where', input: joined, condition }, `select * ${from} where ${sql}`)
    const some: QueryNode = {
      op: 'project',
      input: { op: 'where', input: joined, condition },
      columns: [{ name: 's', value: col('s') }],
    }
    await bed.same(t, `s, ${sql}`, some, `select s ${from} where ${sql}`)
  }
})
