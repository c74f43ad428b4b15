import t from 'tap'
import type { ColumnType } from '../../../protocol/column-types.js'
import type { Aggregate, Expression, QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { type Cell, type HostColumn, type HostRelation, hostRelation } from './host-relation.js'
import { inSmallest, nearestDouble } from './nearest-float.js'
import { QueryBed } from './query-bed.js'

type IntegerType = 'u32' | 'i32' | 'u64' | 'i64'
const INTEGERS: readonly IntegerType[] = ['u32', 'i32', 'u64', 'i64']
const ENDS: Readonly<Record<IntegerType, readonly [least: bigint, most: bigint]>> = {
  u32: [0n, 2n ** 32n - 1n],
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  u64: [0n, 2n ** 64n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
}

const col = (column: string): Expression => ({ column })
const keyed = (name: string) => ({ name, value: col(name) })

/** Integers of all sizes, the ends of the type and powers of two among them. */
function randomInteger(random: Random, type: IntegerType): bigint {
  const [least, most] = ENDS[type]
  const kind = random.below(5)
  if (kind === 0) return random.chance(0.5) ? least + BigInt(random.below(3)) : most - BigInt(random.below(3))
  const bits = type.endsWith('64') ? 64 : 32
  const word = (BigInt(random.word()) << 32n) | BigInt(random.word())
  const size =
    kind === 1 ? 1n << BigInt(random.below(bits)) : BigInt.asUintN(bits, word) >> BigInt(random.below(bits))
  const value = size + BigInt(random.below(3)) - 1n
  const signed = least < 0n && random.chance(0.5) ? -value : value
  return signed < least ? least : signed > most ? most : signed
}

function columnOf(
  random: Random,
  name: string,
  type: ColumnType,
  nulls: number,
  make: () => Cell,
  rows: number,
): HostColumn {
  const cells = Array.from({ length: rows }, () => (random.chance(nulls) ? null : make()))
  return { name, type, nullable: nulls > 0, cells }
}

function integerColumn(
  random: Random,
  name: string,
  type: IntegerType,
  nulls: number,
  rows: number,
): HostColumn {
  const isWide = type.endsWith('64')
  const make = () => {
    const value = randomInteger(random, type)
    return isWide ? value : Number(value)
  }
  return columnOf(random, name, type, nulls, make, rows)
}

/** The values of a column by the keys of their rows, nulls left out. */
function valuesByKey(relation: HostRelation, key: string, name: string): Map<Cell, Cell[]> {
  const cellsOf = (column: string) => relation.columns.find((each) => each.name === column)!.cells
  const [keys, cells] = [cellsOf(key), cellsOf(name)]
  const groups = new Map<Cell, Cell[]>(keys.map((cell) => [cell, []]))
  cells.forEach((cell, row) => {
    if (cell !== null) groups.get(keys[row]!)!.push(cell)
  })
  return groups
}

function sumOf(values: readonly Cell[]): bigint {
  return values.reduce((sum: bigint, value) => sum + BigInt(value as bigint), 0n)
}

t.test('sums and averages of integers are exact', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const rows = 3000
  const k: HostColumn = columnOf(random, 'k', 'u32', 0, () => random.below(40), rows)
  const relation = hostRelation('r', [
    k,
    ...INTEGERS.flatMap((type) =>
      [0, 0.4].map((nulls) => integerColumn(random, `${type}${nulls > 0 ? 'n' : ''}`, type, nulls, rows)),
    ),
  ])
  const bed = await QueryBed.open(t, [relation])
  for (const type of INTEGERS) {
    for (const name of [type, `${type}n`]) {
      const groups = valuesByKey(relation, 'k', name)
      const aggregates: Aggregate[] = [
        { name: 'average', function: 'avg', value: col(name) },
        { name: 'total', function: 'sum', value: col(name) },
      ]
      const input: QueryNode = { op: 'scan', relation: 'r' }
      const found = await bed.rows({ op: 'groupBy', input, keys: [keyed('k')], aggregates })
      const wanted = [...groups].map(([key, values]): [Cell, Cell[]] => {
        if (values.length === 0) return [key, [null, null]]
        const sum = sumOf(values)
        return [key, [nearestDouble(sum, BigInt(values.length)), sum]]
      })
      t.same(new Map(found.map(([key, ...made]) => [key, made])), new Map(wanted), name)
    }
  }
})

t.test('quotients of integers are those of doubles', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const rows = 2000
  const relation = hostRelation(
    'r',
    INTEGERS.flatMap((type) =>
      ['a', 'b'].map((name) => integerColumn(random, `${name}${type}`, type, 0.05, rows)),
    ),
  )
  const bed = await QueryBed.open(t, [relation])
  const pairs = [
    ...INTEGERS.map((type) => [type, type] as const),
    ['u32', 'i64'] as const,
    ['u64', 'u32'] as const,
  ]
  const columns = pairs.map(([a, b]) => ({
    name: `${a}${b}`,
    value: { op: '/' as const, args: [col(`a${a}`), col(`b${b}`)] as const },
  }))
  const found = await bed.rows({ op: 'project', input: { op: 'scan', relation: 'r' }, columns })
  const cellsOf = (column: string) => relation.columns.find(({ name }) => name === column)!.cells
  pairs.forEach(([a, b], i) => {
    const [dividends, divisors] = [cellsOf(`a${a}`), cellsOf(`b${b}`)]
    const wanted = dividends.map((dividend, row) => {
      const divisor = divisors[row]!
      if (dividend === null || divisor === null || Number(divisor) === 0) return null
      return Number(dividend) / Number(divisor)
    })
    t.same(
      found.map((row) => row[i]),
      wanted,
      `${a} / ${b}`,
    )
  })
})

t.test('sums and averages of floats', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const rows = 6000
  const size = (key: number) => 10 ** (key * 6 - 28)
  const keys = Array.from({ length: rows }, () => random.below(10))
  const cells = keys.map((key) => {
    if (random.chance(0.2)) return null
    return Math.fround((random.below(2 ** 30) / 2 ** 20 - (key % 2) * 300) * size(key))
  })
  const relation = hostRelation('r', [
    { name: 'k', type: 'u32', nullable: false, cells: keys },
    { name: 'v', type: 'f32', nullable: true, cells },
  ])
  const bed = await QueryBed.open(t, [relation])
  const aggregates: Aggregate[] = [
    { name: 's', function: 'sum', value: col('v') },
    { name: 'a', function: 'avg', value: col('v') },
  ]
  const input: QueryNode = { op: 'scan', relation: 'r' }
  const found = await bed.rows({ op: 'groupBy', input, keys: [keyed('k')], aggregates })
  const groups = valuesByKey(relation, 'k', 'v')
  t.equal(found.length, groups.size)
  for (const [key, sum, average] of found) {
    const values = groups.get(key!)!.map((value) => inSmallest(Number(value)))
    const exact = values.reduce((total, value) => total + value, 0n)
    t.equal(sum, nearestDouble(exact, 1n << 149n), `sum of ${key}`)
    t.equal(average, nearestDouble(exact, BigInt(values.length) << 149n), `avg of ${key}`)
  }
})
