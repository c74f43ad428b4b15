import t from 'tap'
import { GeneratedKernels } from '../../../../gpu/relational/expressions/generated-kernels.js'
import type { Condition } from '../../../../gpu/relational/selection/selection-types.js'
import { Random, seedOfRun } from '../../../random.js'
import { hostRelation } from '../../../src/query/host-relation.js'
import { randomColumn } from '../../../src/query/relations.js'
import { Model } from './model.js'
import { described, randomPlan, randomValues } from './random-conditions.js'
import { SelectionBed, strategies, withWork } from './selection-bed.js'

const COLUMNS = 12

/** A table of more columns than a kernel can bind, all of which may be null. */
function wideTable(random: Random, rows: number) {
  const types = ['u32', 'i64', 'f32'] as const
  return hostRelation(
    'wide',
    Array.from({ length: COLUMNS }, (_, i) => randomColumn(random, `c${i}`, types[i % 3]!, rows, 0.1)),
  )
}

/** All columns but one value, so that some rows pass all. */
function mild(column: number): Condition {
  const low = BigInt(column)
  return {
    kind: 'values',
    column,
    set: {
      intervals: [
        { low: 0n, high: low },
        { low: low + 2n, high: 2n ** 32n - 2n },
      ],
      nulls: true,
    },
  }
}

t.test('conditions on more columns than a kernel can bind', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const table = wideTable(random, 1500)
  const model = new Model(table)
  const conditions = Array.from({ length: COLUMNS }, (_, column) => mild(column))
  const together = { kernels: [{ groups: [[...conditions.keys()]], hands: 'rows' }] } as const
  for (const strategy of await strategies()) {
    const bed = await SelectionBed.create(table, strategy)
    const plans = strategy === 'serial' ? [together, randomPlan(random, COLUMNS)] : [together]
    for (const plan of plans) {
      const { rows, left } = model.run(conditions, plan)
      const found = await bed.run(conditions, plan, { kind: 'rows' })
      t.same([found.rows, found.left], [rows, left], `${strategy}, ${described(plan)}`)
      t.same((await bed.run(conditions, plan, { kind: 'count' })).left, left)
    }
    const all = [...conditions.keys()]
    const values = await bed.run(conditions, together, { kind: 'columns', columns: all })
    t.same(values.columns, model.columns(all, model.run(conditions, together).rows))
  }
})

t.test('alternatives over more columns than a kernel can bind', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const table = wideTable(random, 1500)
  const model = new Model(table)
  const bed = await SelectionBed.create(table)
  const of = (numbers: readonly number[]) => {
    const { columns } = table
    return numbers.map((number): Condition => {
      const condition = randomValues(random, hostRelation('one', [columns[number]!]))
      return { ...condition, column: number } as Condition
    })
  }
  const all = Array.from({ length: COLUMNS }, (_, i) => i)
  const conditions: Condition[] = [
    { kind: 'any', branches: [...of(all).map((one) => [one]), all.map(mild)] },
    {
      kind: 'any',
      branches: [[{ kind: 'any', branches: of(all).map((one) => [one]) }, ...of([3])], of([1, 2])],
    },
  ]
  for (const hands of ['rows', 'columns'] as const) {
    const plan = {
      kernels: [
        { groups: [[0]], hands },
        { groups: [[1]], hands },
      ],
    }
    const { rows, left } = model.run(conditions, plan)
    const found = await bed.run(conditions, plan, { kind: 'rows' })
    t.same([found.rows, found.left], [rows, left], described(conditions, plan))
  }
})

t.test('no more kernels are kept than were asked for last', async (t) => {
  await withWork(async ({ device }) => {
    const kernels = new GeneratedKernels(device, 2)
    const kernelOf = (quads: number) =>
      kernels.get(
        {
          module: 'relational/selection/mark',
          conditions: { emulated: true, runs: true },
          generated: {
            module: 'relational/selection/plan',
            text: `const QUADS = ${quads}u; fn passes(quads: vec4u, possible: vec4u) -> vec4u { return possible; }`,
          },
        },
        'mark_serial',
      )
    const [first, second] = [await kernelOf(1), await kernelOf(2)]
    t.equal(await kernelOf(1), first)
    await kernelOf(4)
    t.equal(await kernelOf(1), first, 'that was used after the second')
    t.not(await kernelOf(2), second)
  })
})
