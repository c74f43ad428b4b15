import t, { type Test } from 'tap'
import { and, col, count, or, type Query, relation } from '../../../../clients/sdk/index.js'
import { qError } from '../../../../protocol/query/explanation.js'
import { Random, seedOfRun } from '../../../random.js'
import { EstimateBed } from './estimate-bed.js'
import { joined, plainRows } from './plain-rows.js'
import { randomRelation } from './random-relations.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)
const a = randomRelation(random, 'a', 30_000)
const b = randomRelation(random, 'b', 8000)
const c = randomRelation(random, 'c', 300)
const bed = new EstimateBed([a, b, c])
const [ofA, ofB, ofC] = [plainRows(a), plainRows(b), plainRows(c)]

/** Of estimates that were wrong by 1.5 at most over many seeds. */
const MOST_WRONG = 3

function close(t: Test, what: string, query: Query, rows: number): void {
  const estimated = bed.rows(query.tree)
  t.ok(qError(estimated, rows) <= MOST_WRONG, `${what}: ${Math.round(estimated)} for ${rows}`)
}

t.test('conditions one after the other', async (t) => {
  const some = relation('a').where(col('a_many').lt(2000))
  const ofSome = ofA.filter(({ a_many }) => Number(a_many) < 2000)
  close(t, 'one', some, ofSome.length)
  close(t, 'that follows from it', some.where(col('a_part').lt(20)), ofSome.length)
  close(
    t,
    'half of it',
    some.where(col('a_part').lt(10)),
    ofSome.filter((row) => Number(row.a_part) < 10).length,
  )
  const [zipf, hole] = [col('a_zipf'), col('a_hole')]
  const smaller = ofA.filter((row) => row.a_hole !== null && Number(row.a_zipf) < Number(row.a_hole)).length
  close(t, 'one column below another', relation('a').where(zipf.lt(hole)), smaller)
  const larger = ofA.filter((row) => row.a_hole !== null && Number(row.a_zipf) > Number(row.a_hole)).length
  close(t, 'above it', relation('a').where(zipf.le(hole).not()), larger)
  const within = ofA.filter((row) => {
    return (
      row.a_hole !== null &&
      Number(row.a_zipf) < Number(row.a_hole) &&
      Number(row.a_hole) <= Number(row.a_many)
    )
  }).length
  close(t, 'between two others', relation('a').where(and(zipf.lt(hole), hole.le(col('a_many')))), within)
  const neither = ofA.filter((row) => {
    return (
      row.a_hole !== null &&
      Number(row.a_zipf) <= Number(row.a_hole) &&
      Number(row.a_many) >= Number(row.a_hole)
    )
  }).length
  const either = or(zipf.gt(hole), col('a_many').lt(hole))
  close(t, 'neither of two', relation('a').where(either.not()), neither)
  t.equal(bed.rows(some.where(col('a_text').eq('no such text')).tree), 0)
  const rare = relation('a').where(col('a_id').eq(5))
  t.ok(bed.rows(rare.tree) < 30, 'one row')
  const found = bed.rows(rare.join(relation('b'), { on: [['a_many', 'b_many']] }).tree)
  t.ok(found < 60, `and what it matches: ${found}`)
})

t.test('conditions on what joins give', async (t) => {
  const many = relation('a').join(relation('b'), { on: [['a_many', 'b_many']] })
  const ofMany = joined(ofA, ofB, [['a_many', 'b_many']])
  close(t, 'a skewed value', many.where(col('a_zipf').eq(0)), ofMany.filter((row) => row.a_zipf === 0).length)
  close(
    t,
    'their key',
    many.where(col('b_many').lt(500)),
    ofMany.filter((row) => Number(row.b_many) < 500).length,
  )
  const both = and(col('a_few').gt(0), col('b_few').gt(10))
  close(
    t,
    'both sides',
    many.where(both),
    ofMany.filter((row) => Number(row.a_few) > 0 && Number(row.b_few) > 10).length,
  )
  const skewed = relation('b').join(relation('c'), { on: [['b_half', 'c_half']] })
  const [counts, others] = [countsOf(ofB.map((row) => row.b_half)), countsOf(ofC.map((row) => row.c_half))]
  const pairs = [...counts].reduce((sum, [value, count]) => sum + count * (others.get(value) ?? 0), 0)
  close(t, 'half of both are one', skewed, pairs)
  const rest = bed.rows(skewed.where(col('b_half').ne(7)).tree)
  t.ok(rest < 0.01 * pairs, `hardly any others: ${Math.round(rest)}`)
  const outer = relation('b').join(relation('c'), { on: [['b_hole', 'c_hole']], kind: 'left' })
  const ofOuter = joined(ofB, ofC, [['b_hole', 'c_hole']], 'left')
  close(
    t,
    'rows without a partner',
    outer.where(col('c_id').isNull()),
    ofOuter.filter((row) => row.c_id === null).length,
  )
  const partnered = ofOuter.filter((row) => row.c_few !== null && Number(row.c_few) > 0).length
  close(t, 'rows with one', outer.where(col('c_few').gt(0)), partnered)
})

t.test('several joins', async (t) => {
  const two = [
    ['a_many', 'b_many'],
    ['a_part', 'b_part'],
  ] as const
  close(
    t,
    'by what follows from the key',
    relation('a').join(relation('b'), { on: two }),
    joined(ofA, ofB, two).length,
  )
  const other = [
    ['a_few', 'b_few'],
    ['a_part', 'b_part'],
  ] as const
  close(
    t,
    'by independent columns',
    relation('a').join(relation('b'), { on: other }),
    joined(ofA, ofB, other).length,
  )
  const keyed = relation('a').join(relation('b'), { on: [['a_run', 'b_id']] })
  const ofKeyed = joined(ofA, ofB, [['a_run', 'b_id']])
  const third = [
    ['b_part', 'c_part'],
    ['a_few', 'c_few'],
  ] as const
  close(t, 'of three', keyed.join(relation('c'), { on: third }), joined(ofKeyed, ofC, third).length)
})

t.test('sets, products and limits', async (t) => {
  const left = relation('a').select(['a_many'])
  const right = relation('b').select({ a_many: col('b_many') })
  const one = new Set(ofA.map(({ a_many }) => a_many))
  const other = new Set(ofB.map(({ b_many }) => b_many))
  const common = [...one].filter((value) => other.has(value!)).length
  close(t, 'union', left.union(right), one.size + other.size - common)
  close(t, 'intersect', left.intersect(right), common)
  close(t, 'except', left.except(right), one.size - common)
  t.equal(bed.rows(left.union(right, { all: true }).tree), 38_000)
  const [counts, others] = [countsOf(ofA.map((row) => row.a_many)), countsOf(ofB.map((row) => row.b_many))]
  const shared = [...counts].reduce((sum, [value, count]) => sum + Math.min(count, others.get(value) ?? 0), 0)
  close(t, 'intersect all', left.intersect(right, { all: true }), shared)
  close(t, 'except all', left.except(right, { all: true }), ofA.length - shared)
  const matching = ofA.filter(({ a_many }) => other.has(a_many!)).length
  close(t, 'intersect by key', left.intersect(right, { byKey: ['a_many'] }), matching)
  const missing = ofB.filter(({ b_many }) => !one.has(b_many!)).length
  const byKey = bed.rows(left.union(right, { byKey: ['a_many'] }).tree)
  t.ok(Math.abs(byKey - ofA.length - missing) < 0.4 * ofB.length, `union by key: ${Math.round(byKey)}`)
  const negative = ofA.filter(({ a_few }) => Number(a_few) < 0).length
  close(t, 'product', relation('a').where(col('a_few').lt(0)).product(relation('c')), 300 * negative)
  t.equal(bed.rows(relation('a').limit(10, 29_995).tree), 5)
  t.equal(bed.rows(relation('a').orderBy('a_few').limit(10).tree), 10)
})

t.test('without samples', async (t) => {
  const bare = new EstimateBed([a, b], false)
  const rows = (query: Query) => bare.rows(query.tree)
  t.equal(rows(relation('a')), 30_000)
  t.equal(rows(relation('a').where(col('a_few').eq(3))), 3000)
  t.equal(rows(relation('a').groupBy(['a_text'], { n: count() })), 300, 'as many strings as there are')
  t.equal(rows(relation('a').groupBy(['a_many'], { n: count() })), 3000)
  t.equal(rows(relation('a').join(relation('b'), { on: [['a_id', 'b_id']] })), 80_000)
  t.equal(
    rows(relation('a').join(relation('b'), { band: { left: 'a_id', right: 'b_id', width: 2 } })),
    30_000,
  )
  const computed = relation('a').select({ s: col('a_text').eq('x1') })
  t.equal(rows(computed.distinct()), 2)
})

function countsOf<Value>(values: readonly Value[]): Map<Value, number> {
  const counts = new Map<Value, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}
