import t from 'tap'
import type { Condition } from '../../../../gpu/relational/selection/selection-types.js'
import { Random } from '../../../random.js'
import { Model } from './model.js'
import { described } from './random-conditions.js'
import { randomTable, SelectionBed } from './selection-bed.js'

t.test('a plan takes memory for what its kernels hand on, not for what they might', async (t) => {
  const random = new Random(5)
  const table = randomTable(random, 2 ** 16)
  const model = new Model(table)
  const bed = await SelectionBed.create(table)
  const equal = (column: number, value: bigint): Condition => ({
    kind: 'values',
    column,
    set: { intervals: [{ low: value, high: value }], nulls: false },
  })
  const anything = (column: number): Condition => ({
    kind: 'values',
    column,
    set: { intervals: [{ low: 0n, high: 2n ** 64n - 2n }], nulls: true },
  })
  for (const conditions of [
    // Some rows pass the first, and none.
    [equal(0, 3n), anything(2), anything(6), anything(8)],
    [equal(0, 2n ** 32n - 2n), anything(2), anything(6), anything(8)],
  ]) {
    for (const hands of ['rows', 'columns'] as const) {
      const kernels = conditions.map((_, i) => ({ groups: [[i]], hands }))
      const { rows, left } = model.run(conditions, { kernels })
      let held = 0
      const admit = (bytes: number) => {
        held = bytes
      }
      const bytesOf = async (mostUnreadWords: number) => {
        const found = await bed.run(conditions, { kernels }, { kind: 'rows' }, { mostUnreadWords }, admit)
        t.same([found.rows, found.left], [rows, left], described(conditions, kernels))
        return held
      }
      const unread = await bytesOf(2 ** 24)
      t.ok(unread >= 3 * 4 * table.rows, 'a list for each boundary, of all rows')
      t.ok((await bytesOf(table.rows - 1)) < unread / 3)
    }
  }
})
