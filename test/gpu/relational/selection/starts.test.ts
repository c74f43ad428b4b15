import t from 'tap'
import type { Condition, SelectionPlan } from '../../../../gpu/relational/selection/selection-types.js'
import type { TypedExpression } from '../../../../protocol/query/typed.js'
import { Random, seedOfRun } from '../../../random.js'
import { Model } from './model.js'
import { allPlans, described, randomValues } from './random-conditions.js'
import { randomTable, SelectionBed, strategies } from './selection-bed.js'

t.test('selections that begin from some rows keep their order', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const table = randomTable(random, 3000)
  const model = new Model(table)
  const conditions = [randomValues(random, table), randomValues(random, table)]
  const all = Array.from({ length: table.rows }, (_, row) => row)
  const some = all.filter(() => random.chance(0.3))
  for (const strategy of await strategies()) {
    const bed = await SelectionBed.create(table, strategy)
    const plan = random.pick(allPlans([0, 1], () => random.pick(['rows', 'columns'])))
    for (const start of [[], [table.rows - 1], some, [...some].reverse()]) {
      const { rows, left } = model.run(conditions, plan, start)
      const label = `${strategy}, ${start.length} rows, ${described(conditions, plan)}`
      const found = await bed.run(conditions, plan, { kind: 'rows' }, { start })
      t.same([found.rows, found.left], [rows, left], label)
      const values = await bed.run(conditions, plan, { kind: 'columns', columns: [5, 10] }, { start })
      t.same(values.columns, model.columns([5, 10], rows), label)
      t.same((await bed.run(conditions, plan, { kind: 'count' }, { start })).left, left, label)
    }
  }
})

t.test('an expression is evaluated for the rows that come to it', async (t) => {
  const random = new Random(11)
  const table = randomTable(random, 3000)
  const [first, second] = [0, 1].map((column) => table.columns[column]!.cells as (number | null)[])
  const column = (index: number): TypedExpression => ({
    kind: 'column',
    index,
    type: 'u32',
    nullable: index === 1,
  })
  const expression: TypedExpression = {
    kind: 'comparison',
    op: '<',
    args: [column(0), column(1)],
    type: 'boolean',
    nullable: true,
  }
  const conditions: readonly Condition[] = [
    { kind: 'values', column: 6, set: { intervals: [{ low: 0n, high: 9n << 30n }], nulls: false } },
    { kind: 'expression', expression },
    { kind: 'values', column: 0, set: { intervals: [{ low: 3n, high: 17n }], nulls: false } },
  ]
  const model = new Model(table)
  const isLess = (row: number) => second![row] !== null && first![row]! < second![row]!
  const bed = await SelectionBed.create(table)
  for (const order of [
    [0, 1, 2],
    [1, 0, 2],
    [0, 2, 1],
  ]) {
    for (const hands of ['rows', 'columns'] as const) {
      const plan: SelectionPlan = { kernels: order.map((number) => ({ groups: [[number]], hands })) }
      const others = { kernels: [{ groups: [[0, 2]], hands }] }
      const rows = model.run(conditions, others).rows.filter(isLess)
      for (const options of [{}, { mostUnreadWords: 0 }]) {
        const found = await bed.run(conditions, plan, { kind: 'rows' }, options)
        t.same(found.rows, rows, described(order, hands, options))
      }
      t.equal((await bed.run(conditions, plan, { kind: 'count' })).count, rows.length)
      const values = await bed.run(conditions, plan, { kind: 'columns', columns: [3] })
      t.same(values.columns, model.columns([3], rows))
    }
  }
  const wanted = model.run(conditions, { kernels: [{ groups: [[0, 2]], hands: 'rows' }] }).rows.filter(isLess)
  for (const strategy of await strategies()) {
    const bed = await SelectionBed.create(table, strategy)
    for (const groups of [[[0, 1, 2]], [[0], [1, 2]], [[1], [0], [2]]]) {
      const together = { kernels: [{ groups, hands: 'rows' }] } as const
      t.same((await bed.run(conditions, together, { kind: 'rows' })).rows, wanted, `${strategy}, ${groups}`)
      t.equal((await bed.run(conditions, together, { kind: 'count' })).count, wanted.length)
    }
  }
})
