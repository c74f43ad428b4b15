import t from 'tap'
import { coalesce, col, type Operand, type Value } from '../../../clients/sdk/query/value.js'
import { Random, seedOfRun } from '../../random.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'

/** By their columns, so that what they give of every type is compared. */
const VALUES: readonly (readonly [sql: string, value: Value])[] = [
  ...['u', 'f', 'ul', 'nc', 'g', 'ng'].map((name) => [`abs(${name})`, col(name).abs()] as const),
  // The least of 32 bits has no magnitude there.
  ['abs(ni::bigint)', col('ni').as('i64').abs()],
  ['abs(i::bigint + 0)', col('i').plus(0).abs()],
  ['coalesce(nu, i, 7)', coalesce(col('nu'), col('i'), 7)],
  ["coalesce(ns, 'none')", coalesce(col('ns'), 'none')],
  ['coalesce(nd, nd, d)', coalesce(col('nd'), col('nd'), col('d'))],
  ['coalesce(nc, ne)', coalesce(col('nc'), col('ne'))],
]

t.test('functions of values give what DuckDB gives', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const bed = await QueryBed.open(t, [randomRelation(new Random(seed), 'r', 300)])
  for (const [sql, { expression }] of VALUES) {
    const columns = [{ name: 'x', value: expression }]
    const tree = { op: 'project', input: { op: 'scan', relation: 'r' }, columns } as const
    await bed.same(t, sql, tree, `select ${sql} from r`)
  }
})

t.test('functions of what they do not take', async (t) => {
  const bed = await QueryBed.open(t, [randomRelation(new Random(1), 'r', 10)])
  const least: Operand = -(2n ** 63n)
  for (const [value, message] of [
    [col('s').abs(), /query\.columns\[0\]\.value: "abs" needs numbers, not string/],
    [coalesce(), /query\.columns\[0\]\.value: "args" has 0 elements/],
    [
      coalesce(col('u'), col('s')),
      /what coalesce chooses from must go together: column "u" is u32, column "s"/,
    ],
    [coalesce(least).abs(), /overflow/],
  ] as const) {
    const columns = [{ name: 'x', value: value.expression }]
    await t.rejects(bed.rows({ op: 'project', input: { op: 'scan', relation: 'r' }, columns }), { message })
  }
})
