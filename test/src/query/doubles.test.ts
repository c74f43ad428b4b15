import t from 'tap'
import { avg, col, stddev, sum, type Value, variance } from '../../../clients/sdk/query/value.js'
import type { ColumnType } from '../../../protocol/column-types.js'
import { COMPARISONS, type Expression, type QueryNode } from '../../../protocol/query/tree.js'
import { doublePairs, SPECIAL_DOUBLES } from '../../gpu/relational/expressions/doubles.js'
import { Random, seedOfRun } from '../../random.js'
import { type Cell, hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'

const R: QueryNode = { op: 'scan', relation: 'r' }

function project(values: readonly Value[]): QueryNode {
  return {
    op: 'project',
    input: R,
    columns: values.map(({ expression }, i) => ({ name: `c${i}`, value: expression })),
  }
}

const random = new Random(seedOfRun())

/** As JavaScript has it, with null for a divisor of 0. */
const OPERATIONS: readonly (readonly [
  name: string,
  value: (a: Value, b: Value) => Value,
  compute: (a: number, b: number) => number | null,
])[] = [
  ['+', (a, b) => a.plus(b), (a, b) => a + b],
  ['-', (a, b) => a.minus(b), (a, b) => a - b],
  ['*', (a, b) => a.times(b), (a, b) => a * b],
  ['/', (a, b) => a.over(b), (a, b) => (b === 0 ? null : a / b)],
  ['%', (a, b) => a.modulo(b), (a, b) => (b === 0 ? null : a % b)],
  ['-a', (a) => a.negate(), (a) => -a],
  ['abs', (a) => a.abs(), Math.abs],
  ['floor', (a) => a.floor(), Math.floor],
  ['ceil', (a) => a.ceil(), Math.ceil],
  ['round', (a) => a.round(), (a) => Math.sign(a) * roundUp(Math.abs(a))],
  ['as f32', (a) => a.minus(a).plus(a).as('f32').as('f64'), (a) => Math.fround(a - a + a)],
]

/** Half up: Math.round goes wrong where a half is added to what has no room for it. */
function roundUp(a: number): number {
  const whole = Math.floor(a)
  return a - whole >= 0.5 ? whole + 1 : whole
}

t.test('expressions of doubles are those of JavaScript', async (t) => {
  const [x, y] = doublePairs(random, SPECIAL_DOUBLES.length ** 2 + 5000)
  const a = Array.from(x, (value): Cell => (random.chance(0.05) ? null : value))
  const b = Array.from(y)
  const columns = [
    { name: 'a', type: 'f64', nullable: true, cells: a },
    { name: 'b', type: 'f64', nullable: false, cells: b },
  ] as const
  const bed = await QueryBed.open(t, [hostRelation('r', columns)])
  for (const [name, value, compute] of OPERATIONS) {
    // What does not fit an f32 would be a fault.
    const isFloat = name === 'as f32'
    const input = isFloat ? col('a').modulo(1e38) : col('a')
    const found = await bed.rows(project([value(input, col('b'))]))
    const wanted = a.map((cell, row) => {
      if (cell === null) return null
      return compute(isFloat ? (cell as number) % 1e38 : (cell as number), b[row]!)
    })
    const wrong = wanted.findIndex((cell, row) => !Object.is(found[row]![0], cell))
    const shown = wrong < 0 ? '' : `: ${a[wrong]}, ${b[wrong]} gave ${found[wrong]![0]}, not ${wanted[wrong]}`
    t.equal(wrong, -1, `${name}${shown}`)
  }
})

const NUMBERS = ['u', 'i', 'ul', 'il', 'f', 'nc', 'ne', 'ng'] as const
const SQL_TYPES: readonly (readonly [ColumnType, string])[] = [
  ['u32', 'uinteger'],
  ['i32', 'integer'],
  ['u64', 'ubigint'],
  ['i64', 'bigint'],
  ['f32', 'float'],
  ['f64', 'double'],
  ['decimal(9,3)', 'decimal(9,3)'],
  ['decimal(18,1)', 'decimal(18,1)'],
  ['decimal(4,0)', 'decimal(4,0)'],
]

t.test('numbers are cast to all types of numbers as in DuckDB, and what does not fit fails', async (t) => {
  const bed = await QueryBed.open(t, [randomRelation(random, 'r', 400)])
  for (const name of NUMBERS) {
    // DuckDB takes what is next to the ends of integers for what lies within.
    for (const [least, isUnsigned] of [
      [-1000, false],
      [0, true],
    ] as const) {
      const types = SQL_TYPES.filter(([type]) => type.startsWith('u') === isUnsigned)
      const condition = col(name).between(least, 1000).expression
      const columns = types.map(([type], i) => ({ name: `x${i}`, value: col(name).as(type).expression }))
      const casts = types.map(([, sql]) => `${name}::${sql}`).join(', ')
      const input: QueryNode = { op: 'where', input: R, condition }
      const wanted = `select ${casts} from r where ${name} between ${least} and 1000`
      await bed.same(t, casts, { op: 'project', input, columns }, wanted)
    }
    const [type, sql] = random.pick(SQL_TYPES)
    const lost = `select * from r where ${name} is not null and try_cast(${name} as ${sql}) is null`
    const isWhole = (await bed.oracle.rows(lost)).length === 0
    const all = bed.rows(project([col(name).as(type)]))
    if (isWhole) await all
    else await t.rejects(all, { code: 'BAD_REQUEST', message: /overflow/ }, `${name} as ${type} overflows`)
  }
})

t.test('numbers of unlike types meet as in DuckDB', async (t) => {
  const bed = await QueryBed.open(t, [randomRelation(random, 'r', 300)])
  for (const [one, other] of [
    ['u', 'g'],
    ['nil', 'ng'],
    ['c', 'ng'],
    ['nf', 'g'],
    ['c', 'f'],
    ['u', 'nc'],
    ['i', 'u'],
    ['nc', 'ne'],
  ] as const) {
    const values = [col(one).over(col(other)), col(other).over(col(one))]
    const quotients = `case when ${other} <> 0 then ${one} / ${other} end, case when ${one} <> 0 then ${other} / ${one} end`
    await bed.same(t, `${one} / ${other}`, project(values), `select ${quotients} from r`)
    const condition = col(one).lt(col(other)).expression
    const less = `select * from r where ${one} < ${other}`
    await bed.same(t, `${one} < ${other}`, { op: 'where', input: R, condition }, less)
  }
  const sums = [
    col('u').plus(col('g')),
    col('c').plus(col('ng')),
    col('nf').times(col('g')),
    col('u').times(0.1),
  ]
  await bed.same(t, 'sums', project(sums), 'select u + g, c + ng, nf * g, u * 0.1::double from r')
})

t.test('columns of all types of numbers are compared with floats as in DuckDB', async (t) => {
  const bed = await QueryBed.open(t, [randomRelation(random, 'r', 300)])
  for (const name of NUMBERS) {
    for (const [value, type, sql] of [
      [0.5, 'f64', '0.5::double'],
      [1 / 3, 'f64', '(1.0::double / 3)'],
      [-0.1, 'f32', '-0.1::float'],
      [2 ** 40, 'f64', '1099511627776::double'],
      [1e19, 'f32', '1e19::float'],
    ] as const) {
      const op = random.pick(COMPARISONS)
      const condition: Expression = { op, args: [{ column: name }, { value, type }] }
      const where = `${name} ${op} ${sql}`
      await bed.same(t, where, { op: 'where', input: R, condition }, `select * from r where ${where}`)
    }
  }
})

const AGGREGATES = { sum: sum('v'), avg: avg('v'), stddev: stddev('v'), variance: variance('v') }

t.test('sums, averages and spreads of doubles are near the exact ones', async (t) => {
  const rows = 4000
  const keys = Array.from({ length: rows }, () => random.below(12))
  // From such as cancel out to such as differ in their last digits only.
  const cells = keys.map((key): Cell => {
    if (random.chance(0.1)) return null
    return (random.below(2 ** 30) / 2 ** 30 - 0.5) * 10 ** (key % 4) + (key < 6 ? 0 : 10 ** (key - 3))
  })
  const columns = [
    { name: 'k', type: 'u32', nullable: false, cells: keys },
    { name: 'v', type: 'f64', nullable: true, cells },
  ] as const
  const bed = await QueryBed.open(t, [hostRelation('r', columns)])
  const aggregates = Object.entries(AGGREGATES).map(([name, aggregate]) => ({ name, ...aggregate }))
  const by = [{ name: 'k', value: col('k').expression }]
  for (const keyed of [[], by]) {
    for (const row of await bed.rows({ op: 'groupBy', input: R, keys: keyed, aggregates })) {
      const [key, found] = keyed.length === 0 ? [undefined, row] : [row[0], row.slice(1)]
      const values = cells.filter((cell, i) => cell !== null && (key === undefined || keys[i] === key))
      const wanted = exactAggregates(values.map(Number))
      found.forEach((result, i) => {
        const off = Math.abs(Number(result) - wanted[i]!) / Math.abs(wanted[i]!)
        t.ok(off <= 2 ** -50, `${aggregates[i]!.name} of ${key}: ${result}, exactly ${wanted[i]}`)
      })
    }
  }
})

/** What lies behind the point of integers that stand for numbers. */
const SCALE = 2n ** 200n

/** Sum, average, standard deviation and variance, by integers. */
function exactAggregates(values: readonly number[]): number[] {
  const wholes = values.map((value) => BigInt(value * 2 ** 60))
  const n = BigInt(wholes.length)
  const total = wholes.reduce((sum, value) => sum + value, 0n)
  const squares = wholes.reduce((sum, value) => sum + value * value, 0n)
  const spread = ((n * squares - total * total) * SCALE) / (n * (n - 1n))
  const variance = Number(spread) / Number(SCALE) / 2 ** 120
  const mean = Number((total * SCALE) / n) / Number(SCALE) / 2 ** 60
  return [Number(total) / 2 ** 60, mean, Math.sqrt(variance), variance]
}

t.test('averages and spreads of all types of numbers are those of DuckDB', async (t) => {
  const bed = await QueryBed.open(t, [randomRelation(random, 'r', 1000)])
  for (const name of ['ni', 'nul', 'nf', 'ne']) {
    const value = col(name).expression
    const tame: QueryNode = {
      op: 'where',
      input: R,
      condition: col(name)
        .isNull()
        .or(col(name).between(-(10 ** 12), 10 ** 12)).expression,
    }
    const aggregates = (['avg', 'stddev', 'variance'] as const).map((fn) => ({
      name: fn,
      function: fn,
      value,
    }))
    const where = `${name} is null or ${name} between -1e12 and 1e12`
    const list = `avg(${name}), stddev(${name}), variance(${name})`
    await bed.same(
      t,
      list,
      { op: 'groupBy', input: tame, keys: [{ name: 's', value: col('s').expression }], aggregates },
      `select s, ${list} from r where ${where} group by s`,
    )
  }
})
