import t from 'tap'
import { coalesce, col, type Operand, type Value } from '../../../clients/sdk/query/value.js'
import { Random, seedOfRun } from '../../random.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'

/** What DuckDB negates in another type, as it may not fit there. */
const SIGNED: Readonly<Record<string, string>> = { nc: 'decimal(12,2)', f: 'float', ng: 'double' }

/** By their columns, so that what they give of every type is compared. */
const VALUES: readonly (readonly [sql: string, value: Value])[] = [
  ...['u', 'f', 'ul', 'nc', 'g', 'ng'].map((name) => [`abs(${name})`, col(name).abs()] as const),
  // The least of 32 bits has no magnitude there.
  ['abs(ni::bigint)', col('ni').as('i64').abs()],
  ['abs(i::bigint + 0)', col('i').plus(0).abs()],
  ...['u', 'i', 'nc', 'f', 'ng'].map(
    (name) => [`-${name}::${SIGNED[name] ?? 'bigint'}`, col(name).negate()] as const,
  ),
  ...['f', 'nf', 'g', 'ng', 'c', 'ne'].flatMap((name) =>
    (['round', 'floor', 'ceil'] as const).map((fn) => [`${fn}(${name})`, col(name)[fn]()] as const),
  ),
  ...[-3, -1, 2].map(
    (digits) => [`round(ni::bigint, ${digits})`, col('ni').as('i64').round(digits)] as const,
  ),
  ...['g', 'nf', 'nc', 'e'].flatMap((name) =>
    [-3, -1, 0, 1, 3].map((digits) => [`round(${name}, ${digits})`, col(name).round(digits)] as const),
  ),
  ['case when e <> 0 then floor(c / e) end', col('c').over(col('e')).floor()],
  ['i % 7', col('i').modulo(7)],
  ['ni % (i - 5::bigint)', col('ni').modulo(col('i').minus(5))],
  ['il % i', col('il').modulo(col('i'))],
  ['nul % 1000', col('nul').modulo(1000)],
  ['ul % (u % 3)', col('ul').modulo(col('u').as('u64').modulo(3))],
  ['(i + 0) // u', col('i').plus(0).integerOver(col('u'))],
  ['nil // -3', col('nil').integerOver(-3)],
  ['ul // u', col('ul').integerOver(col('u'))],
  ['c % e', col('c').modulo(col('e'))],
  ['nc % 0.3', col('nc').modulo(0.3)],
  ['ng % 0.7::double', col('ng').modulo(0.7)],
  ['case when ng <> 0 then g % ng end', col('g').modulo(col('ng'))],
  ['f % 0.75::float', col('f').modulo(0.75)],
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
    [col('s').round(), /"round" needs numbers, not string/],
    [col('c').round(19), /"round" needs a constant number of digits from -18 to 18/],
    [col('c').integerOver(2), /"\/\/" needs integers, not decimal\(12,2\); "floor"/],
    [col('ul').modulo(col('i')), /u64 and i32 do not go together/],
    [col('s').over(2), /"\/" needs numbers, not string and i64/],
    [coalesce(least).abs(), /overflow/],
  ] as const) {
    const columns = [{ name: 'x', value: value.expression }]
    await t.rejects(bed.rows({ op: 'project', input: { op: 'scan', relation: 'r' }, columns }), { message })
  }
})
