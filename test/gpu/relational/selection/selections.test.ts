import t from 'tap'
import { freshSeed, Random } from '../../../random.js'
import { Model } from './model.js'
import { described, randomCondition, randomPlan } from './random-conditions.js'
import { randomTable, SelectionBed, strategies } from './selection-bed.js'

/** Beside quads, words, and tiles of invocations and of workgroups. */
const LENGTHS = [0, 1, 5, 31, 1024, 1025, 2047, 8193]

t.test('random conditions under random plans, with each strategy', async (t) => {
  const seed = freshSeed()
  t.comment(`seed ${seed}`)
  const random = new Random(seed)
  for (const strategy of await strategies()) {
    for (const rows of LENGTHS) {
      const table = randomTable(random, rows)
      const model = new Model(table)
      const bed = await SelectionBed.create(table, strategy)
      const conditions = Array.from({ length: 1 + random.below(4) }, () => randomCondition(random, table))
      const plan = randomPlan(random, conditions.length)
      const matchBy = new Map(conditions.map((_, i) => [i, random.pick(['row', 'dictionary'] as const)]))
      const wanted = model.run(conditions, plan)
      const label = `${strategy}, ${described(rows, conditions, plan)}`
      const found = await bed.run(conditions, plan, { kind: 'rows' }, { matchBy })
      t.same([found.rows, found.left, found.count], [wanted.rows, wanted.left, wanted.rows.length], label)
      const counted = await bed.run(conditions, plan, { kind: 'count' }, { matchBy })
      t.same([counted.left, counted.count], [wanted.left, wanted.rows.length], label)
      const numbers = [random.below(12), random.below(12)]
      const values = await bed.run(conditions, plan, { kind: 'columns', columns: numbers }, { matchBy })
      t.same(values.columns, model.columns(numbers, wanted.rows), label)
    }
  }
})
