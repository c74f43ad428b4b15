import t from 'tap'
import type { Condition } from '../../../../gpu/relational/selection/selection-types.js'
import { Random, seedOfRun } from '../../../random.js'
import { Model } from './model.js'
import { allPlans, described, randomSet } from './random-conditions.js'
import { randomTable, SelectionBed } from './selection-bed.js'

const HANDS: readonly ((kernel: number) => 'rows' | 'columns')[] = [
  () => 'rows',
  () => 'columns',
  (kernel) => (kernel % 2 === 0 ? 'columns' : 'rows'),
]

t.test('every plan of four conditions gives the same rows, however kernels hand them on', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const table = randomTable(random, 2100)
  const values = (column: number, most: number): Condition => {
    const set = randomSet(random, table.columns[column]!, most)
    return {
      kind: 'values',
      column,
      set: { ...set, intervals: [{ low: 0n, high: 2n }, ...set.intervals.slice(1)] },
    }
  }
  const wide = { low: 0n, high: 2n ** 64n - 2n }
  const conditions: readonly Condition[] = [
    { kind: 'values', column: 1, set: { intervals: [{ low: 2n, high: 15n }], nulls: true } },
    { kind: 'match', column: 11, match: 'contains', text: 'e', negated: true },
    {
      kind: 'any',
      branches: [
        [values(2, 1), { kind: 'values', column: 8, set: { intervals: [wide], nulls: false } }],
        [values(1, 1)],
      ],
    },
    { kind: 'values', column: 7, set: { intervals: [{ low: 0n, high: 12n << 30n }], nulls: true } },
  ]
  const bed = await SelectionBed.create(table)
  const model = new Model(table)
  for (const hands of HANDS) {
    for (const plan of allPlans([0, 1, 2, 3], hands)) {
      const matchBy = new Map([[1, 'row']] as const)
      const options = { matchBy, mostUnreadWords: random.pick([0, table.rows, undefined]) }
      const { rows, left } = model.run(conditions, plan)
      const label = described(conditions, plan, options.mostUnreadWords)
      const counted = await bed.run(conditions, plan, { kind: 'count' }, options)
      t.same(counted.left, left, `count: ${label}`)
      t.same((await bed.run(conditions, plan, { kind: 'rows' }, options)).rows, rows, `rows: ${label}`)
      const numbers = [8, 1, 10]
      const found = await bed.run(conditions, plan, { kind: 'columns', columns: numbers }, options)
      t.same(found.columns, model.columns(numbers, rows), `columns: ${label}`)
    }
  }
})
