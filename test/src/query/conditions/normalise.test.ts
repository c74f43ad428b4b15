import t from 'tap'
import { compareStrings, dictionaryOf } from '../../../../gpu/relational/query/dictionaries.js'
import type { ColumnType } from '../../../../protocol/column-types.js'
import { roundedToFloat } from '../../../../protocol/query/constants.js'
import { COMPARISONS, type ComparisonOp, MATCHES } from '../../../../protocol/query/tree.js'
import type { ConstantValue, TypedExpression } from '../../../../protocol/query/typed.js'
import type { ColumnDomain } from '../../../../src/query/conditions/column-domain.js'
import { normalise } from '../../../../src/query/conditions/normalise.js'
import { Random, seedOfRun } from '../../../random.js'
import type { Cell } from '../host-relation.js'
import { evaluate, isSelected } from './condition-model.js'

const TEXTS = ['', 'a', 'ab', 'abc', 'b', 'z', 'é', 'ÿ', '\u{1f600}', '\uffee']
const PATTERNS = ['_', 'a%_', '_b%', '%b_', '%a%b%']
const TYPES: readonly ColumnType[] = ['u32', 'i32', 'u64', 'i64', 'f32', 'string', 'boolean']

/** A column of each type without nulls, then one of each with them. */
const COLUMNS: readonly ColumnDomain[] = [false, true].flatMap((nullable) =>
  TYPES.map((type) => ({
    type,
    nullable,
    dictionary:
      type === 'string' ? dictionaryOf(TEXTS.filter((_, i) => i % 2 === 0).sort(compareStrings)) : undefined,
  })),
)

/** Values lie close, so that conditions meet; some are at the ends of their types. */
function randomValue(random: Random, type: ColumnType): Exclude<ConstantValue, null> {
  const small = random.below(8)
  const extreme = random.chance(0.1)
  switch (type) {
    case 'u32':
      return BigInt(extreme ? 2 ** 32 - 1 - small : small)
    case 'i32':
      return BigInt(extreme ? -(2 ** 31) + small : small - 4)
    case 'u64':
      return extreme ? 2n ** 64n - 1n - BigInt(small) : BigInt(small)
    case 'i64':
      return extreme ? -(2n ** 63n) + BigInt(small) : BigInt(small - 4)
    case 'f32':
      return extreme ? random.pick([NaN, -0, Infinity, -Infinity]) : (small - 4) / 2
    case 'string':
      return random.pick(TEXTS)
    case 'boolean':
      return random.chance(0.5)
    case 'f64':
      return extreme ? random.pick([NaN, -0, Infinity, -Infinity]) : (small - 4) / 3
    default:
      return BigInt(small - 4)
  }
}

function randomCell(random: Random, { type, nullable, dictionary }: ColumnDomain): Cell {
  if (nullable && random.chance(0.25)) return null
  if (dictionary !== undefined) return dictionary.at(random.below(dictionary.size))
  const value = randomValue(random, type)
  return type === 'u32' || type === 'i32' ? Number(value) : value
}

function column(index: number): TypedExpression {
  const { type, nullable } = COLUMNS[index]!
  return { kind: 'column', index, type, nullable }
}

function constant(value: ConstantValue, type: ColumnType): TypedExpression {
  return { kind: 'constant', value, type, nullable: value === null }
}

function compare(op: ComparisonOp, left: TypedExpression, right: TypedExpression): TypedExpression {
  const nullable = left.nullable || right.nullable
  return { kind: 'comparison', op, args: [left, right], type: 'boolean', nullable }
}

function join(kind: 'and' | 'or', parts: readonly TypedExpression[]): TypedExpression {
  const [first, ...rest] = parts
  return rest.reduce(
    (left, right) => ({
      kind,
      args: [left, right],
      type: 'boolean',
      nullable: left.nullable || right.nullable,
    }),
    first!,
  )
}

function randomLeaf(random: Random): TypedExpression {
  // Few columns, so that several conditions meet on one.
  const index = random.chance(0.7) ? random.pick([0, 1, 7, 8, 12]) : random.below(COLUMNS.length)
  const own = column(index)
  const { type } = own
  const choice = random.below(12)
  if (choice === 0) return { kind: 'isNull', args: [own], type: 'boolean', nullable: false }
  if (choice === 1 && type === 'boolean') return own
  if (choice === 2) return constant(random.pick([true, false, null]), 'boolean')
  if (choice <= 4 && type === 'string') {
    const match = random.pick(MATCHES)
    const text = random.pick(match === 'like' ? PATTERNS : TEXTS)
    return { kind: 'match', match, text, args: [own], type: 'boolean', nullable: own.nullable }
  }
  if (choice === 5) return compare(random.pick(COMPARISONS), own, column(index % TYPES.length))
  if (choice === 6) {
    const values = Array.from({ length: 1 + random.below(5) }, () =>
      constant(randomValue(random, type), type),
    )
    return join(
      'or',
      values.map((value) => compare('=', own, value)),
    )
  }
  const target = type === 'u32' ? random.pick(['u64', 'i64', 'f32'] as const) : 'i64'
  const converted = (type === 'u32' || type === 'i32') && random.chance(0.3)
  const side: TypedExpression = converted
    ? { kind: 'convert', args: [own], type: target, nullable: own.nullable }
    : own
  const value = constant(random.chance(0.05) ? null : randomValue(random, side.type), side.type)
  const op = random.pick(COMPARISONS)
  return random.chance(0.5) ? compare(op, side, value) : compare(op, value, side)
}

function randomCondition(random: Random, depth: number): TypedExpression {
  const choice = depth === 0 ? 0 : random.below(5)
  if (choice === 0) return randomLeaf(random)
  if (choice === 1) {
    const inner = randomCondition(random, depth - 1)
    return { kind: 'not', args: [inner], type: 'boolean', nullable: inner.nullable }
  }
  const parts = Array.from({ length: 2 + random.below(2) }, () => randomCondition(random, depth - 1))
  return join(choice < 4 ? 'and' : 'or', parts)
}

t.test('a condition selects the rows for which it is true in SQL', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const rows = Array.from({ length: 60 }, () => COLUMNS.map((facts) => randomCell(random, facts)))
  const wrong: unknown[] = []
  for (let round = 0; round < 1500; round++) {
    const condition = randomCondition(random, random.below(5))
    const normalised = normalise(condition, COLUMNS)
    for (const row of rows) {
      const wanted = evaluate(condition, row) === true
      if (isSelected(normalised, row, COLUMNS) !== wanted) {
        wrong.push({ round, condition, row, wanted })
        break
      }
    }
  }
  t.same(wrong.slice(0, 1), [])
})

const A = column(7)
const B = column(8)
const C = column(12)
const between = (own: TypedExpression, low: bigint, high: bigint) =>
  join('and', [compare('>=', own, constant(low, own.type)), compare('<=', own, constant(high, own.type))])

t.test('what branches have in common is taken out of them', async (t) => {
  const x = between(B, 0n, 5n)
  const y = compare('=', C, constant('ab', 'string'))
  const z = compare('=', C, constant('b', 'string'))
  const shared = normalise(join('or', [join('and', [x, y]), join('and', [x, z])]), COLUMNS)
  t.match(shared, {
    kind: 'all',
    conditions: [{ kind: 'values' }, { kind: 'values' }],
    implied: { length: 0 },
  })
  const ranges = join('or', [join('and', [between(A, 1n, 2n), y]), join('and', [between(A, 5n, 6n), x])])
  t.match(normalise(ranges, COLUMNS), {
    kind: 'all',
    conditions: [{ kind: 'any', branches: { length: 2 } }],
    implied: [
      {
        by: 0,
        condition: {
          column: 7,
          set: {
            intervals: [
              { low: 1n, high: 2n },
              { low: 5n, high: 6n },
            ],
          },
        },
      },
    ],
  })
  const within = normalise(join('and', [between(A, 0n, 9n), ranges]), COLUMNS)
  t.match(
    within,
    { conditions: { length: 2 }, implied: { length: 0 } },
    'goes into what is asked of the column',
  )
  t.match(normalise(join('or', [x, join('and', [x, y])]), COLUMNS), { conditions: { length: 1 } })
})

t.test('contradictions and tautologies', async (t) => {
  const contradiction = join('and', [
    compare('<', A, constant(3n, 'u32')),
    compare('>', A, constant(5n, 'u32')),
  ])
  t.same(normalise(contradiction, COLUMNS), { kind: 'none' })
  const tautology = join('or', [
    compare('<', column(0), constant(3n, 'u32')),
    compare('>=', column(0), constant(3n, 'u32')),
  ])
  t.same(normalise(tautology, COLUMNS), { kind: 'all', conditions: [], implied: [] })
  const missing = compare('=', column(5), constant('nowhere', 'string'))
  t.same(normalise(missing, COLUMNS), { kind: 'none' })
  const beyond: TypedExpression = { kind: 'convert', args: [column(0)], type: 'i64', nullable: false }
  t.same(normalise(compare('<', beyond, constant(0n, 'i64')), COLUMNS), { kind: 'none' })
  const sum: TypedExpression = { kind: 'arithmetic', op: '+', args: [A, A], type: 'i64', nullable: true }
  const computed = compare('=', sum, constant(4n, 'i64'))
  t.match(normalise(join('and', [computed, computed]), COLUMNS), {
    conditions: [{ kind: 'expression', expression: { kind: 'and' } }],
  })
})

t.test('integers are rounded to floats once', async (t) => {
  for (const [value, wanted] of [
    [2n ** 53n + 1n, 2 ** 53],
    [2n ** 60n + 2n ** 36n, 2 ** 60],
    [2n ** 60n + 2n ** 36n + 1n, 2 ** 60 + 2 ** 37],
    [-(2n ** 60n + 2n ** 36n + 1n), -(2 ** 60 + 2 ** 37)],
    [2n ** 64n - 1n, 2 ** 64],
  ] as const) {
    t.equal(roundedToFloat(value), wanted)
  }
})

t.test('long lists of values', async (t) => {
  const random = new Random(7)
  const values = Array.from({ length: 10_000 }, () => BigInt(random.word()))
  const equal = values.map((value) => compare('=', A, constant(value, 'u32')))
  const balanced = (parts: readonly TypedExpression[]): TypedExpression => {
    if (parts.length === 1) return parts[0]!
    const middle = parts.length >> 1
    return join('or', [balanced(parts.slice(0, middle)), balanced(parts.slice(middle))])
  }
  const list = balanced(equal)
  normalise(list, COLUMNS)
  const begin = performance.now()
  const normalised = normalise(list, COLUMNS)
  const middle = performance.now()
  const negated = normalise({ kind: 'not', args: [list], type: 'boolean', nullable: true }, COLUMNS)
  t.comment(`in: ${(middle - begin).toFixed(1)} ms, not in: ${(performance.now() - middle).toFixed(1)} ms`)
  const distinct = new Set(values).size
  t.match(normalised, { conditions: [{ column: 7 }] })
  t.match(negated, { conditions: [{ column: 7, set: { intervals: { length: distinct + 1 } } }] })
})
