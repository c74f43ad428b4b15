import t from 'tap'
import { Random, seedOfRun } from '../../../random.js'
import { Model } from './model.js'
import { described, randomCondition, randomPlan } from './random-conditions.js'
import { randomTable, SelectionBed, strategies } from './selection-bed.js'

/** Beside quads, words, and tiles of invocations and of workgroups. */
const LENGTHS = [0, 1, 5, 31, 1023, 1025, 2047, 8192, 8193, 17000]

t.test('tables of all lengths, with each strategy', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const some = randomTable(random, 300)
  const conditions = [0, 0, 1].map((depth) => randomCondition(random, some, depth))
  const plan = randomPlan(random, conditions.length)
  const matchBy = new Map(conditions.map((_, i) => [i, random.pick(['row', 'dictionary'] as const)]))
  const numbers = [random.below(12), random.below(12)]
  for (const rows of LENGTHS) {
    const table = randomTable(random, rows)
    const model = new Model(table)
    const wanted = model.run(conditions, plan)
    for (const strategy of await strategies()) {
      const bed = await SelectionBed.create(table, strategy)
      const label = `${strategy}, ${described(rows, conditions, plan)}`
      const found = await bed.run(conditions, plan, { kind: 'rows' }, { matchBy })
      t.same([found.rows, found.left, found.count], [wanted.rows, wanted.left, wanted.rows.length], label)
      const counted = await bed.run(conditions, plan, { kind: 'count' }, { matchBy })
      t.same([counted.left, counted.count], [wanted.left, wanted.rows.length], label)
      const values = await bed.run(conditions, plan, { kind: 'columns', columns: numbers }, { matchBy })
      t.same(values.columns, model.columns(numbers, wanted.rows), label)
    }
  }
})

t.test('few rows pass, most do, all do', async (t) => {
  const random = new Random(7)
  const table = randomTable(random, 20_000)
  const model = new Model(table)
  const plan = { kernels: [{ groups: [[0]], hands: 'rows' }] } as const
  for (const strategy of await strategies()) {
    const bed = await SelectionBed.create(table, strategy)
    for (const high of [0n, 15n, 2n ** 32n - 2n]) {
      const conditions = [
        { kind: 'values', column: 0, set: { intervals: [{ low: 0n, high }], nulls: false } },
      ] as const
      const { rows } = model.run(conditions, plan)
      const found = await bed.run(conditions, plan, { kind: 'rows' })
      t.same(found.rows, rows, `${strategy}, up to ${high}`)
    }
  }
})

t.test('random conditions of all kinds', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const table = randomTable(random, 1500)
  const model = new Model(table)
  const bed = await SelectionBed.create(table)
  for (let i = 0; i < 10; i++) {
    const conditions = [randomCondition(random, table)]
    const matchBy = new Map([[0, random.pick(['row', 'dictionary'] as const)]])
    const plan = randomPlan(random, 1)
    const { rows } = model.run(conditions, plan)
    const found = await bed.run(conditions, plan, { kind: 'rows' }, { matchBy })
    t.same(found.rows, rows, described(conditions))
  }
})
