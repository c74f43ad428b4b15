import t from 'tap'
import { freshSeed, Random } from '../../../random.js'
import { Model } from './model.js'
import { allPlans, randomValues } from './random-conditions.js'
import { randomTable, SelectionBed, strategies } from './selection-bed.js'

t.test('plans', async (t) => {
  const seed = freshSeed()
  t.comment(`seed ${seed}`)
  const random = new Random(seed)
  for (const strategy of await strategies()) {
    for (const rows of [0, 1, 1023, 1025, 8193, 20000]) {
      const table = randomTable(random, rows)
      const model = new Model(table)
      const bed = await SelectionBed.create(table, strategy)
      for (let i = 0; i < 3; i++) {
        const conditions = Array.from({ length: 1 + i }, () => randomValues(random, table))
        const plans = allPlans([...conditions.keys()], () => 'rows')
        for (const plan of [random.pick(plans), random.pick(plans)]) {
          const { rows, left } = model.run(conditions, plan)
          const label = JSON.stringify([strategy, conditions, plan], (_, v) =>
            typeof v === 'bigint' ? `${v}` : v,
          )
          const found = await bed.run(conditions, plan, { kind: 'rows' })
          t.same(found.rows, rows, label)
          t.same(found.left, left)
          const counted = await bed.run(conditions, plan, { kind: 'count' })
          t.same(counted.left, left)
          const values = await bed.run(conditions, plan, { kind: 'columns', columns: [0, 3, 6, 9, 11] })
          t.same(values.columns, model.columns([0, 3, 6, 9, 11], rows))
        }
      }
    }
  }
})
