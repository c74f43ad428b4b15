import t from 'tap'
import { between, unionOf } from '../../../../gpu/relational/expressions/value-sets.js'
import { dictionaryOf } from '../../../../gpu/relational/query/dictionaries.js'
import {
  type RelationSample,
  SAMPLE_ROWS,
  SampleKeeper,
  sampleRows,
} from '../../../../gpu/relational/relation-sample.js'
import type { Condition } from '../../../../gpu/relational/selection/selection-types.js'
import type { ColumnType } from '../../../../protocol/column-types.js'
import { ColumnSample, type EstimatedColumn } from '../../../../src/query/estimates/column-sample.js'
import { Estimates } from '../../../../src/query/estimates/condition-shares.js'
import { Random, seedOfRun } from '../../../random.js'

const ROWS = 200_000

interface Values {
  readonly type: ColumnType
  readonly words: Uint32Array
  readonly isNull?: (row: number) => boolean
  readonly texts?: readonly string[]
}

/** Columns of one relation with a sample, as a query would have them. */
function sampled(columns: readonly Values[]): EstimatedColumn[] {
  const rows = sampleRows(ROWS)
  const sample: RelationSample = { of: ROWS, rows, columns: new Map() }
  const source = Symbol()
  return columns.map(({ type, words, isNull, texts }) => {
    const dictionary = texts && dictionaryOf(texts)
    const validity = new Uint32Array(Math.ceil(rows.length / 32))
    rows.forEach((row, i) => {
      if (isNull?.(row) !== true) validity[i >> 5]! |= 1 << (i & 31)
    })
    const column = { words: Uint32Array.from(rows, (row) => words[row]!), validity, dictionary }
    const facts = { type, nullable: isNull !== undefined, dictionary }
    return { ...facts, from: { source, sample: new ColumnSample(sample, column, type) } }
  })
}

const values = (column: number, low: bigint, high: bigint): Condition => ({
  kind: 'values',
  column,
  set: between(low, high),
})

function share(matches: (row: number) => boolean): number {
  let count = 0
  for (let row = 0; row < ROWS; row++) if (matches(row)) count++
  return count / ROWS
}

t.test('estimates come close to what is there', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const uniform = Uint32Array.from({ length: ROWS }, () => random.below(1_000_000))
  const skewed = Uint32Array.from({ length: ROWS }, () => (random.chance(0.4) ? 7 : random.below(50)))
  const texts = ['apple', 'apple pie', 'banana', 'cherry pie']
  const strings = Uint32Array.from({ length: ROWS }, () => random.below(texts.length))
  const holes = Uint8Array.from({ length: ROWS }, () => Number(random.chance(0.3)))
  const columns = sampled([
    { type: 'u32', words: uniform },
    { type: 'u32', words: skewed, isNull: (row) => holes[row] === 1 },
    { type: 'string', words: strings, texts },
    { type: 'f32', words: new Uint32Array(Float32Array.from(uniform, (value) => value - 500_000).buffer) },
  ])
  const cases: readonly (readonly [string, Condition, number])[] = [
    ['a range', values(0, 100_000n, 399_999n), 0.3],
    ['a narrow range', values(0, 5000n, 9999n), 0.005],
    ['a common value', values(1, 7n, 7n), share((row) => skewed[row] === 7 && holes[row] === 0)],
    ['a rare value', values(1, 8n, 8n), share((row) => skewed[row] === 8 && holes[row] === 0)],
    ['nulls', { kind: 'values', column: 1, set: { intervals: [], nulls: true } }, 0.3],
    [
      'several',
      { kind: 'values', column: 0, set: unionOf([between(0n, 99_999n), between(900_000n, 999_999n)]) },
      0.2,
    ],
    ['a text', { kind: 'match', column: 2, match: 'endsWith', text: 'pie', negated: false }, 0.5],
    ['no text', { kind: 'match', column: 2, match: 'contains', text: 'an', negated: true }, 0.75],
    ['negative floats', values(3, 0n, 0x7fffffffn), 0.5],
    [
      'one or the other',
      { kind: 'any', branches: [[values(0, 0n, 499_999n)], [values(2, 0n, 0n), values(1, 7n, 7n)]] },
      0.5 + 0.5 * 0.25 * share((row) => skewed[row] === 7 && holes[row] === 0),
    ],
  ]
  for (const [what, condition, wanted] of cases) {
    const found = new Estimates([condition], columns).joint(1)
    // Five deviations of a sample, and half a bucket.
    const error = 5 * Math.sqrt((wanted * (1 - wanted)) / SAMPLE_ROWS) + 0.002
    t.ok(Math.abs(found - wanted) <= error, `${what}: ${found.toFixed(4)} for ${wanted.toFixed(4)}`)
  }
  const key = new Estimates([values(0, BigInt(uniform[5]!), BigInt(uniform[5]!))], columns).joint(1)
  t.ok(key > 0 && key < 1e-3, `a value of a key: ${key}`)
})

t.test('what goes together is noticed', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const first = Uint32Array.from({ length: ROWS }, () => random.below(1000))
  const columns = sampled([
    { type: 'u32', words: first },
    { type: 'u32', words: first.map((value) => value + random.below(20)) },
    { type: 'u32', words: Uint32Array.from({ length: ROWS }, () => random.below(1000)) },
  ])
  const [a, b, c] = [values(0, 0n, 99n), values(1, 0n, 109n), values(2, 0n, 99n)]
  const correlated = new Estimates([a, b], columns)
  t.equal(correlated.correlated, true)
  t.ok(correlated.joint(3) > 0.08 && correlated.joint(3) < 0.12, `both: ${correlated.joint(3)}`)
  const exclusive = new Estimates([a, values(1, 500n, 900n)], columns)
  t.ok(exclusive.joint(3) < 0.001, `never both: ${exclusive.joint(3)}`)
  const independent = new Estimates([a, c], columns)
  t.equal(independent.correlated, false)
  t.ok(independent.joint(3) > 0.005 && independent.joint(3) < 0.016, `by chance: ${independent.joint(3)}`)
  const rare = new Estimates([values(0, 0n, 0n), values(2, 0n, 0n)], columns)
  // Four rows of the sample have such a value, give or take; where none has it counts as half a row.
  const least = (0.5 / SAMPLE_ROWS) ** 2
  t.ok(rare.joint(3) >= least && rare.joint(3) < 1e-4, `rare: ${rare.joint(3)}`)
  const implied = new Estimates([b], columns, [{ condition: values(0, 0n, 109n) as never, by: 0 }])
  t.ok(Math.abs(implied.joint(3) - implied.joint(1)) < 0.01, 'what is implied leaves the same rows')
})

t.test('without a sample', async (t) => {
  const dictionary = dictionaryOf(['a', 'b', 'c', 'd'])
  const unknown = { nullable: false, from: undefined }
  const columns: EstimatedColumn[] = [
    { ...unknown, type: 'u32', dictionary: undefined },
    { ...unknown, type: 'string', dictionary },
  ]
  const estimates = new Estimates([values(0, 3n, 3n), values(0, 3n, 9n), values(1, 0n, 0n)], columns)
  t.same(
    [0, 1, 2].map((i) => estimates.joint(1 << i)),
    [0.1, 1 / 3, 0.25],
  )
  t.ok(Math.abs(estimates.joint(5) - 0.025) < 1e-12)
  t.equal(estimates.correlated, false)
})

t.test('rows of a sample', async (t) => {
  t.same([...sampleRows(5)], [0, 1, 2, 3, 4])
  for (const rows of [SAMPLE_ROWS + 1, 10_000, 1_000_000_000]) {
    const sample = sampleRows(rows)
    t.equal(sample.length, SAMPLE_ROWS)
    t.ok(
      sample.every((row, i) => row < rows && (i === 0 || sample[i - 1]! < row)),
      `${rows}, ascending`,
    )
  }
  const keeper = new SampleKeeper()
  const sample = keeper.at(100_000)
  t.equal(keeper.at(105_000), sample, 'stays while the relation grows little')
  t.not(keeper.at(120_000), sample)
  const later = keeper.at(120_000)
  keeper.forget()
  t.not(keeper.at(120_000), later)
})
