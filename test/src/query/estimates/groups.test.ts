import t, { type Test } from 'tap'
import { col, count, type Query, relation } from '../../../../clients/sdk/index.js'
import { qError } from '../../../../protocol/query/explanation.js'
import { distinctAmong, distinctCount } from '../../../../src/query/estimates/distinct-count.js'
import { Random, seedOfRun } from '../../../random.js'
import { EstimateBed } from './estimate-bed.js'
import { combinations, joined, plainRows } from './plain-rows.js'
import { randomRelation, zipf } from './random-relations.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)
const a = randomRelation(random, 'a', 30_000)
const b = randomRelation(random, 'b', 8000)
const bed = new EstimateBed([a, b])
const [ofA, ofB] = [plainRows(a), plainRows(b)]

/** Of estimates that were wrong by 2 at most over many seeds. */
const MOST_WRONG = 3.5

function close(t: Test, what: string, query: Query, rows: number, most = MOST_WRONG): void {
  const estimated = bed.rows(query.tree)
  t.ok(qError(estimated, rows) <= most, `${what}: ${Math.round(estimated)} for ${rows}`)
}

t.test('different values by a sample', async (t) => {
  const rows = 100_000
  const sampled = 4096
  const errorOf = (draw: () => number) => {
    const values = Uint32Array.from({ length: rows }, draw)
    const counts = new Map<number, number>()
    for (let i = 0; i < sampled; i++) {
      const value = values[random.below(rows)]!
      counts.set(value, (counts.get(value) ?? 0) + 1)
    }
    return qError(distinctCount(counts.values(), rows), new Set(values).size)
  }
  for (const values of [10, 1000, 20_000]) {
    const error = errorOf(() => random.below(values))
    t.ok(error <= 2, `uniform, ${values}: ${error.toFixed(2)}`)
  }
  for (const exponent of [0.5, 1, 1.5, 2]) {
    for (const values of [1000, 50_000]) {
      const error = errorOf(zipf(random, values, exponent))
      // sqrt(rows / sampled) is what no estimator can be better than on all data.
      t.ok(error <= Math.sqrt(rows / sampled), `Zipf ${exponent}, ${values}: ${error.toFixed(2)}`)
    }
  }
  const half = errorOf(() => (random.chance(0.5) ? 7 : random.below(50_000)))
  t.ok(half <= 4, `half of them one: ${half.toFixed(2)}`)
  const ones = new Float64Array(sampled).fill(1)
  t.equal(Math.round(distinctCount(ones, rows)), rows, 'a key')
  t.equal(distinctCount([3, 1, 2], 6), 3, 'all rows')
  t.equal(distinctCount([], 0), 0)
  t.equal(distinctCount([100, 60], rows), 2, 'frequent values only')
})

t.test('different values among drawn rows', async (t) => {
  t.equal(distinctAmong(1, 10), 1)
  t.equal(distinctAmong(Number.POSITIVE_INFINITY, 10), 10)
  t.ok(Math.abs(distinctAmong(1000, 1000) - 632) < 1)
  t.ok(distinctAmong(1e12, 1000) > 999)
})

t.test('groups of a relation', async (t) => {
  for (const name of ['id', 'few', 'many', 'part', 'zipf', 'half', 'hole', 'text']) {
    close(t, name, relation('a').groupBy([`a_${name}`], { n: count() }), combinations(ofA, [`a_${name}`]))
  }
  for (const names of [
    ['a_few', 'a_text'],
    ['a_many', 'a_part'],
    ['a_part', 'a_hole'],
    ['a_id', 'a_many'],
    ['a_half', 'a_few'],
    ['a_zipf', 'a_part'],
  ]) {
    close(t, names.join(), relation('a').select(names).distinct(), combinations(ofA, names))
  }
  const some = relation('a').where(col('a_many').lt(2000))
  const ofSome = ofA.filter(({ a_many }) => Number(a_many) < 2000)
  for (const name of ['id', 'few', 'many', 'part', 'zipf', 'half', 'hole', 'text']) {
    const what = `${name} of a tenth`
    close(t, what, some.groupBy([`a_${name}`], { n: count() }), combinations(ofSome, [`a_${name}`]))
  }
  t.equal(bed.rows(relation('a').groupBy([], { n: count() }).tree), 1)
  const sum = relation('a').select({ s: col('a_few').plus(col('a_few')) })
  t.ok(bed.rows(sum.distinct().tree) <= 60, 'what is computed of a few values has no more')
})

t.test('groups of joins', async (t) => {
  const many = relation('a').join(relation('b'), { on: [['a_many', 'b_many']] })
  const ofMany = joined(ofA, ofB, [['a_many', 'b_many']])
  for (const names of [
    ['a_id'],
    ['a_few'],
    ['a_many'],
    ['b_part'],
    ['b_id'],
    ['b_zipf'],
    ['a_text'],
    // What follows from a column that was joined by.
    ['a_many', 'b_part'],
    ['b_id', 'b_zipf'],
    ['a_few', 'b_few'],
    ['a_zipf', 'b_text'],
  ]) {
    close(t, names.join(), many.groupBy(names, { n: count() }), combinations(ofMany, names))
  }
  const keyed = relation('a').join(relation('b'), { on: [['a_run', 'b_id']] })
  const ofKeyed = joined(ofA, ofB, [['a_run', 'b_id']])
  for (const names of [['a_run'], ['a_run', 'b_few', 'b_text'], ['b_text', 'b_id'], ['b_many'], ['a_many']]) {
    close(t, names.join(), keyed.groupBy(names, { n: count() }), combinations(ofKeyed, names))
  }
})

t.test('what is done to groups', async (t) => {
  const groups = relation('a').groupBy(['a_zipf'], { n: count() })
  const zipfs = new Set(ofA.map(({ a_zipf }) => a_zipf))
  const matching = ofB.filter(({ b_zipf }) => zipfs.has(b_zipf!)).length
  close(t, 'joined', groups.join(relation('b'), { on: [['a_zipf', 'b_zipf']] }), matching)
  close(t, 'selected from', groups.where(col('a_zipf').lt(100)), 100)
  const first = ofA.slice(0, 1000)
  const limited = relation('a').limit(1000)
  close(t, 'of some rows', limited.groupBy(['a_many'], { n: count() }), combinations(first, ['a_many']))
  close(t, 'of some rows', limited.groupBy(['a_few'], { n: count() }), combinations(first, ['a_few']))
})
