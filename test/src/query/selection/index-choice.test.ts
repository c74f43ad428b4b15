import t from 'tap'
import type { ColumnIndex } from '../../../../gpu/relational/device-relation.js'
import type { Condition, SelectionCosts } from '../../../../gpu/relational/selection/selection-types.js'
import {
  type CandidateIndex,
  chooseIndex,
  type IndexTask,
} from '../../../../src/query/selection/index-choice.js'

/** As much as rows want. */
const PROPORTIONAL = [{ share: 1, value: 1 }]

const COSTS: SelectionCosts = {
  workgroup: 256,
  scan: { word: 0.001, wide: 0.002 },
  rates: { word: [1], wide: [1] },
  granule: 16,
  branch: PROPORTIONAL,
  branching: 0,
  gathering: 0,
  gather: { word: 0.02, wide: 0.02 },
  mark: 0,
  write: 0.001,
  copy: 1,
  predicate: { interval: 0, search: 0, table: 0, expression: 0 },
  match: {
    row: 0,
    string: 0,
    byte: 0,
    part: { string: PROPORTIONAL, byte: PROPORTIONAL },
    branched: PROPORTIONAL,
    tile: 1,
    tiles: 1,
  },
  launch: 5000,
  roundTrip: 50_000,
}
const MILLION = 1_000_000

const equal = (column: number, ...values: bigint[]): Condition => ({
  kind: 'values',
  column,
  set: { intervals: values.map((value) => ({ low: value, high: value })), nulls: false },
})
const below = (column: number, nulls = false): Condition => ({
  kind: 'values',
  column,
  set: { intervals: [{ low: 0n, high: 9n }], nulls },
})
const over = (...columns: number[]): CandidateIndex => {
  const index: ColumnIndex = { name: `by ${columns}`, columns: columns.map(String), use: () => undefined }
  return { index, columns }
}

/** Conditions with these shares of rows. */
function task(shares: readonly number[], other: Partial<IndexTask> = {}): IndexTask {
  return {
    rows: 100 * MILLION,
    share: (numbers) => numbers.reduce((product, number) => product * shares[number]!, 1),
    required: shares.length,
    atRows: (_, rows) => rows * COSTS.gather.word,
    forOutput: () => 0,
    costs: COSTS,
    scan: MILLION,
    ...other,
  }
}

t.test('an index is looked into where that takes less', async (t) => {
  const few = chooseIndex([below(0), equal(1, 7n)], [over(1)], task([0.5, 1e-5]))
  t.match(few, { index: { name: 'by 1' }, conditions: [1], columns: 1 })
  t.equal(Math.round(few!.estimatedRows), 1000)
  t.equal(chooseIndex([below(0), equal(1, 7n)], [over(1)], task([0.5, 0.3])), undefined, 'many rows')
  const small = task([0.5, 1e-5], { rows: 10_000, scan: 60_000 })
  t.equal(chooseIndex([below(0), equal(1, 7n)], [over(1)], small), undefined, 'a small relation')
  t.equal(chooseIndex([below(0)], [over(1)], task([1e-5])), undefined, 'another column')
  t.equal(chooseIndex([below(0, true)], [over(0)], task([1e-5])), undefined, 'null is in no index')
  const match: Condition = { kind: 'match', column: 0, match: 'contains', text: 'x', negated: false }
  t.equal(chooseIndex([match], [over(0)], task([1e-5])), undefined, 'no set of values')
})

t.test('the one with the fewest rows is taken', async (t) => {
  const conditions = [equal(0, 1n), equal(1, 2n), below(2)]
  const shares = [1e-3, 1e-6, 1e-5]
  t.match(chooseIndex(conditions, [over(0), over(1), over(2)], task(shares)), { conditions: [1] })
})

t.test('of an index over several columns the leading ones are asked', async (t) => {
  const conditions = [below(0), equal(1, 2n), equal(2, 3n, 4n)]
  const shares = [1e-3, 1e-3, 1e-3]
  const conditionsOf = (...columns: number[]) =>
    chooseIndex(conditions, [over(...columns)], task(shares))?.conditions
  t.same(conditionsOf(1, 2, 0), [1, 2], 'up to the first with several values')
  t.same(conditionsOf(1, 0), [1, 0])
  t.same(conditionsOf(0, 1), [0])
  t.same(conditionsOf(1, 5), [1])
  t.equal(conditionsOf(5, 1), undefined)
})

t.test('what follows from other conditions need not be looked at', async (t) => {
  const conditions = [below(0), equal(1, 7n)]
  const all = chooseIndex(conditions, [over(0)], task([1e-5, 1e-3]))!
  const few = chooseIndex(conditions, [over(0)], task([1e-5, 1e-3], { required: 1 }))!
  // The column at each row, and waiting for what is left.
  t.equal(Math.round(all.cost - few.cost), 1000 * COSTS.gather.word + COSTS.roundTrip)
})

t.test('what is wanted of the rows counts', async (t) => {
  const costOf = (forOutput: IndexTask['forOutput']) =>
    chooseIndex([equal(0, 7n)], [over(0)], task([1e-5], { forOutput }))
  const [none, some] = [costOf(() => 0)!, costOf((rows) => rows * 3)!]
  t.equal(Math.round(some.cost - none.cost), 3000)
  t.ok(some.most < none.most)
})

t.test('it is given up where it has more rows than it pays for', async (t) => {
  const choice = chooseIndex([equal(0, 7n)], [over(0)], task([1e-5]))!
  t.ok(choice.most > choice.estimatedRows)
  const more = chooseIndex([equal(0, 7n)], [over(0)], task([choice.most / (100 * MILLION) + 1e-6]))
  t.equal(more, undefined)
})
