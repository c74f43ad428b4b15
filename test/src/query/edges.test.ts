import t from 'tap'
import type { Aggregate, ComparisonOp, Expression, QueryNode } from '../../../protocol/query/tree.js'
import { COMPARISONS } from '../../../protocol/query/tree.js'
import { type Cell, hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'

const col = (column: string): Expression => ({ column })
const keyed = (name: string) => ({ name, value: col(name) })
const R: QueryNode = { op: 'scan', relation: 'r' }
const Q: QueryNode = { op: 'scan', relation: 'q', as: 'q' }
const compared = (op: ComparisonOp, left: Expression, right: Expression): Expression => ({
  op,
  args: [left, right],
})

const FLOATS = [
  Number.NaN,
  -0,
  0,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  2 ** -149,
  -(2 ** -126),
  3.4028234663852886e38,
  1,
  -1,
  16777216,
  null,
]

/** All pairs of a group and a value. */
function floatRelation(name: string) {
  const rows = FLOATS.flatMap((value, i) =>
    FLOATS.map((other, j) => [i % 5, value, other, i * FLOATS.length + j] as const),
  )
  const cells = (at: 0 | 1 | 2 | 3): Cell[] => rows.map((row) => row[at])
  return hostRelation(name, [
    { name: 'id', type: 'u32', nullable: false, cells: cells(3) },
    { name: 'g', type: 'u32', nullable: false, cells: cells(0) },
    { name: 'x', type: 'f32', nullable: true, cells: cells(1) },
    { name: 'y', type: 'f32', nullable: true, cells: cells(2) },
  ])
}

const sqlFloat = (value: number | null) =>
  value === null ? 'null::float' : Object.is(value, -0) ? "'-0'::float" : `'${value}'::float`

t.test('floats', async (t) => {
  const bed = await QueryBed.open(t, [floatRelation('r'), floatRelation('q')])
  for (const op of COMPARISONS) {
    await bed.same(
      t,
      `x ${op} y`,
      { op: 'where', input: R, condition: compared(op, col('x'), col('y')) },
      `select * from r where x ${op} y`,
    )
    for (const value of FLOATS) {
      const sql = `x ${op} ${sqlFloat(value)}`
      const condition = compared(op, col('x'), { value })
      await bed.same(t, sql, { op: 'where', input: R, condition }, `select * from r where ${sql}`)
      const not: Expression = { op: 'not', args: [condition] }
      await bed.same(t, sql, { op: 'where', input: R, condition: not }, `select * from r where not (${sql})`)
    }
  }
  for (const fn of ['min', 'max'] as const) {
    const aggregates: Aggregate[] = [
      { name: 'a', function: fn, value: col('y') },
      { name: 'b', function: fn, value: col('x') },
    ]
    await bed.same(
      t,
      fn,
      { op: 'groupBy', input: R, keys: [keyed('g')], aggregates },
      `select g, ${fn}(y), ${fn}(x) from r group by g`,
    )
    await bed.same(
      t,
      fn,
      { op: 'groupBy', input: R, keys: [keyed('x')], aggregates },
      `select x, ${fn}(y), ${fn}(x) from r group by x`,
    )
    await bed.same(
      t,
      fn,
      { op: 'groupBy', input: R, keys: [], aggregates },
      `select ${fn}(y), ${fn}(x) from r`,
    )
  }
  const count: Aggregate[] = [{ name: 'n', function: 'count' }]
  await bed.same(
    t,
    'groups',
    { op: 'groupBy', input: R, keys: [keyed('x'), keyed('y')], aggregates: count },
    'select x, y, count(*)::uinteger from r group by x, y',
  )
  await bed.same(
    t,
    'distinct',
    { op: 'distinct', input: { op: 'project', input: R, columns: [keyed('x'), keyed('y')] } },
    'select distinct x, y from r',
  )
  for (const descending of [false, true]) {
    const by = [
      { column: 'x', descending },
      { column: 'y', descending: !descending, nulls: 'first' as const },
      { column: 'id' },
    ]
    const [one, other] = descending ? ['desc', 'asc'] : ['asc', 'desc']
    await bed.same(
      t,
      `order ${one}`,
      { op: 'orderBy', input: R, by },
      `select * from r order by x ${one} nulls last, y ${other} nulls first, id`,
      true,
    )
  }
  const few = (node: QueryNode, name: string): QueryNode => ({
    op: 'where',
    input: node,
    condition: compared('<', col(name), { value: 40 }),
  })
  const join: QueryNode = { op: 'join', left: few(R, 'id'), right: few(Q, 'q.id'), on: [['x', 'q.y']] }
  await bed.same(
    t,
    'join',
    { op: 'project', input: join, columns: [keyed('id'), keyed('q.id')] },
    'select a.id, b.id from (select * from r where id < 40) a join (select * from q where id < 40) b on a.x = b.y',
  )
  for (const op of ['union', 'intersect', 'except'] as const) {
    const side = (column: string): QueryNode => ({
      op: 'project',
      input: R,
      columns: [{ name: 'v', value: col(column) }],
    })
    const sides = {
      left: side('x'),
      right: { op: 'where' as const, input: side('y'), condition: compared('>', col('v'), { value: 0 }) },
    }
    await bed.same(t, op, { op, ...sides }, `select x as v from r ${op} select y from r where y > 0`)
  }
  const sums: Aggregate[] = [
    { name: 's', function: 'sum', value: col('y') },
    { name: 'a', function: 'avg', value: col('y') },
  ]
  const some: Expression = {
    op: 'not',
    args: [{ op: 'in', args: [col('y'), { value: Number.NaN }, { value: Number.NEGATIVE_INFINITY }] }],
  }
  await bed.same(
    t,
    'sums',
    { op: 'groupBy', input: R, keys: [keyed('g')], aggregates: sums },
    'select g, sum(y)::float, avg(y)::float from r group by g',
  )
  await bed.same(
    t,
    'sums',
    {
      op: 'groupBy',
      input: { op: 'where', input: R, condition: some },
      keys: [keyed('x')],
      aggregates: sums,
    },
    "select x, sum(y)::float, avg(y)::float from r where not (y in ('nan'::float, '-inf'::float)) group by x",
  )
  const quotient = { name: 'v', value: { op: '/' as const, args: [col('x'), col('y')] as const } }
  await bed.same(
    t,
    'quotients',
    { op: 'project', input: R, columns: [quotient] },
    'select case when y = 0 then null else x / y end from r',
  )
})

const INTEGERS = {
  u32: [0n, 1n, 16777217n, 2n ** 31n, 2n ** 32n - 1n],
  i32: [-(2n ** 31n), -16777217n, -1n, 0n, 1n, 2n ** 31n - 1n],
  u64: [0n, 1n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n],
  i64: [-(2n ** 63n), -(2n ** 63n) + 1n, -1n, 0n, 1n, 2n ** 53n + 1n, 2n ** 63n - 1n],
} as const

/** Constants as they travel, and in SQL. */
const CONSTANTS: readonly (readonly [Expression, string])[] = [
  ...[0, -1, 1, 7, 2 ** 31, 2 ** 32 - 1, 2 ** 32, -(2 ** 31) - 1, 2 ** 53 - 1].map(
    (value) => [{ value }, `${value}::hugeint`] as const,
  ),
  ...[-(2n ** 63n), 2n ** 63n - 1n].map(
    (value) => [{ value: String(value), type: 'i64' as const }, `${value}::hugeint`] as const,
  ),
  ...[2n ** 63n, 2n ** 64n - 1n].map(
    (value) => [{ value: String(value), type: 'u64' as const }, `${value}::hugeint`] as const,
  ),
  ...[1e25, -1e25].map((value) => [{ value }, `${BigInt(value)}::hugeint`] as const),
  ...[0.5, -0.5, 16777216.5, -16777217.5, 2147483647.5, -2147483648.5, 4294967295.5, -1e-30].map(
    (value) => [{ value }, `${value}::double`] as const,
  ),
  ...[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map(
    (value) => [{ value }, `'${value}'::double`] as const,
  ),
]

t.test('integers and constants at the ends of their types', async (t) => {
  const hosts = Object.entries(INTEGERS).map(([type, values]) =>
    hostRelation(type, [
      {
        name: 'v',
        type: type as keyof typeof INTEGERS,
        nullable: true,
        cells: [...values.map((value) => (type.endsWith('64') ? value : Number(value))), null],
      },
    ]),
  )
  const bed = await QueryBed.open(t, hosts)
  for (const type of Object.keys(INTEGERS)) {
    const input: QueryNode = { op: 'scan', relation: type }
    for (const [constant, sql] of CONSTANTS) {
      for (const op of COMPARISONS) {
        const v = sql.endsWith('double') ? 'v::double' : 'v'
        const [text, condition] =
          COMPARISONS.indexOf(op) % 2 > 0
            ? [`${sql} ${op} ${v}`, compared(op, constant, col('v'))]
            : [`${v} ${op} ${sql}`, compared(op, col('v'), constant)]
        await bed.same(
          t,
          `${type}: ${text}`,
          { op: 'where', input, condition },
          `select * from "${type}" where ${text}`,
        )
      }
    }
  }
})
