import t from 'tap'
import { between } from '../../../../gpu/relational/expressions/value-sets.js'
import { dictionaryOf } from '../../../../gpu/relational/query/dictionaries.js'
import type { RelationSample } from '../../../../gpu/relational/relation-sample.js'
import type { Condition } from '../../../../gpu/relational/selection/selection-types.js'
import type { EstimatedColumn } from '../../../../src/query/estimates/column-sample.js'
import { ColumnSample } from '../../../../src/query/estimates/column-sample.js'
import { Estimates } from '../../../../src/query/estimates/condition-shares.js'
import { choosePlan, type SelectionTask } from '../../../../src/query/selection/choose-plan.js'
import { GPU_COSTS, SOFTWARE_COSTS } from '../../../../src/query/selection/default-costs.js'
import { planCost } from '../../../../src/query/selection/plans.js'

const NUMBERS: EstimatedColumn = {
  type: 'u32',
  nullable: false,
  dictionary: undefined,
  from: undefined,
}

const values = (column: number, low: bigint, high: bigint) =>
  ({ kind: 'values', column, set: between(low, high) }) as const

function taskOf(
  columns: readonly EstimatedColumn[],
  rows: number,
  more: Partial<SelectionTask> = {},
): SelectionTask {
  return { rows, columns, output: { kind: 'rows' }, costs: GPU_COSTS, ...more }
}

function all(conditions: readonly Condition[]) {
  return { kind: 'all', conditions, implied: [] } as const
}

t.test('small tables have one kernel', async (t) => {
  const conditions = [values(0, 3n, 3n), values(1, 3n, 9n), values(2, 1n, 1n)]
  const columns = [NUMBERS, NUMBERS, NUMBERS]
  for (const costs of [GPU_COSTS, SOFTWARE_COSTS]) {
    for (const rows of [0, 1, 1000]) {
      const { plan } = choosePlan(all(conditions), taskOf(columns, rows, { costs }))
      t.equal(plan.kernels.length, 1, `${rows} rows`)
    }
  }
})

t.test('every condition is evaluated once, however many there are', async (t) => {
  for (const count of [1, 10, 24, 25, 60]) {
    const columns = Array.from({ length: count }, () => ({ ...NUMBERS, nullable: true }))
    const conditions = columns.map((_, column) => values(column, 0n, 5n))
    const { plan, estimatedRows } = choosePlan(all(conditions), taskOf(columns, 1e8))
    const evaluated = plan.kernels.flatMap(({ groups }) => groups.flat()).sort((a, b) => a - b)
    t.same(evaluated, [...conditions.keys()], `${count}`)
    t.equal(estimatedRows.length, plan.kernels.length)
  }
})

t.test('conditions over one sample, however many there are', async (t) => {
  const dictionary = dictionaryOf(Array.from({ length: 500 }, (_, i) => `text number ${1000 + i}`))
  const rows = Uint32Array.from({ length: 4096 }, (_, row) => row)
  const sample: RelationSample = { of: 1e8, rows, columns: new Map() }
  const sampled = { words: rows.map((row) => row % 500), validity: undefined, dictionary }
  const column: EstimatedColumn = {
    ...NUMBERS,
    type: 'string',
    dictionary,
    from: { source: Symbol(), sample: new ColumnSample(sample, sampled, 'string') },
  }
  for (const count of [34, 40, 1000]) {
    const conditions = Array.from({ length: count }, (_, i): Condition => {
      return { kind: 'match', column: 0, match: 'contains', text: `${i}`, negated: i % 2 === 0 }
    })
    const { plan, cost } = choosePlan(all(conditions), taskOf([column], 1e8))
    const evaluated = plan.kernels.flatMap(({ groups }) => groups.flat()).sort((a, b) => a - b)
    t.same(evaluated, [...conditions.keys()], `${count}`)
    t.ok(Number.isFinite(cost))
  }
  const many = Array.from({ length: 32 }, () => values(0, 0n, 5n))
  t.throws(() => new Estimates(many, [column]), { code: 'INTERNAL' })
})

t.test('a condition over many columns comes behind the others', async (t) => {
  const columns = Array.from({ length: 40 }, () => NUMBERS)
  const wide: Condition = { kind: 'any', branches: columns.map((_, column) => [values(column, 1n, 1n)]) }
  const narrow = [values(3, 0n, 5n), values(4, 0n, 5n)]
  const implied = [{ condition: values(5, 0n, 99n), by: 0 }]
  for (const conditions of [[wide, ...narrow], [wide], [wide, wide]]) {
    for (const normalised of [all(conditions), { ...all(conditions), implied }]) {
      const { plan, cost, ...chosen } = choosePlan(normalised, taskOf(columns, 1e8))
      const evaluated = plan.kernels.flatMap(({ groups }) => groups.flat())
      t.same([...evaluated].sort(), [...chosen.conditions.keys()])
      t.equal(chosen.conditions[evaluated.at(-1)!], wide)
      t.equal(
        conditions.every((condition) => chosen.conditions.includes(condition)),
        true,
      )
      t.equal(Number.isFinite(cost) && cost > 0, true, `${cost}`)
    }
  }
})

t.test('strings are matched where fewer of them are looked at', async (t) => {
  const dictionary = dictionaryOf(Array.from({ length: 1000 }, (_, i) => `text number ${1000 + i}`))
  const columns: EstimatedColumn[] = [NUMBERS, { ...NUMBERS, type: 'string', dictionary }]
  const match: Condition = { kind: 'match', column: 1, match: 'contains', text: 'x', negated: false }
  const many = choosePlan(all([match]), taskOf(columns, 1e8))
  t.equal(many.matchBy.get(0), 'dictionary')
  const few = choosePlan(all([values(0, 1n, 1n), match]), taskOf(columns, 500))
  t.equal(few.matchBy.get(1), 'row')
})

t.test('what is implied is asked beforehand if that is cheaper', async (t) => {
  const columns = [NUMBERS, NUMBERS, NUMBERS]
  const condition: Condition = {
    kind: 'any',
    branches: [
      [values(0, 1n, 2n), values(1, 0n, 7n)],
      [values(0, 5n, 6n), values(2, 0n, 7n)],
    ],
  }
  const implied = [{ condition: { ...values(0, 1n, 1n), set: between(1n, 1n) }, by: 0 }]
  const normalised = { kind: 'all', conditions: [condition], implied } as const
  const large = choosePlan(normalised, taskOf(columns, 1e9, { costs: { ...GPU_COSTS, launch: 0 } }))
  t.equal(large.conditions.length, 2)
  const small = choosePlan(normalised, taskOf(columns, 10, { costs: { ...GPU_COSTS, granule: 1000 } }))
  t.equal(small.conditions.length, 1)
})

/** Each of two conditions leaves a tenth, and together they leave that too; a third one leaves a fifth of these. */
t.test('conditions that go together do not follow each other', async (t) => {
  const rows = Uint32Array.from({ length: 4000 }, (_, row) => row)
  const sample: RelationSample = { of: 1e8, rows, columns: new Map() }
  const source = Symbol()
  const column = (make: (row: number) => number): EstimatedColumn => {
    const words = rows.map(make)
    const sampled = { words, validity: undefined, dictionary: undefined }
    return { ...NUMBERS, from: { source, sample: new ColumnSample(sample, sampled, 'u32') } }
  }
  const hash = (row: number) => Math.imul(row + 1, 0x9e3779b1) >>> 0
  const columns = [
    column((row) => row % 10),
    column((row) => (row % 10) * 3),
    column((row) => (hash(row) >>> 16) % 5),
  ]
  const conditions = [values(0, 0n, 0n), values(1, 0n, 0n), values(2, 0n, 0n)]
  const costs = { ...GPU_COSTS, granule: 1, launch: 0 }
  const { plan, cost, space } = choosePlan(all(conditions), taskOf(columns, 1e8, { costs }))
  const order = plan.kernels.flatMap(({ groups }) => groups.flat())
  t.not(order.indexOf(2), 2, `in the order ${order}`)
  const byRank = { kernels: [{ groups: [[0], [1], [2]], hands: 'rows' as const }] }
  t.ok(cost < planCost(space!.model, byRank))
})
