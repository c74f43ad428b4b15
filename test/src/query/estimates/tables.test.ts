import t from 'tap'
import type { DeviceMemory } from '../../../../gpu/memory/page-run.js'
import type { DeviceColumnData, DeviceRelation } from '../../../../gpu/relational/device-relation.js'
import { Table } from '../../../../gpu/relational/query/table.js'
import { SampleKeeper } from '../../../../gpu/relational/relation-sample.js'
import { commonestRows, estimateTable } from '../../../../src/query/estimates/estimate-table.js'
import { joinMatches } from '../../../../src/query/estimates/join-matches.js'
import { Random, seedOfRun } from '../../../random.js'

const ON_FIRST = { pairs: [[0, 0] as const], width: undefined }

/** A relation of one column, whose sample is at hand if it is to be. */
function relationOf(values: Uint32Array, isAtHand: boolean): DeviceRelation {
  const column: DeviceColumnData = {
    type: 'u32',
    // Nothing reads it: what is at hand is on the host.
    values: {} as DeviceMemory,
    validity: undefined,
    dictionary: undefined,
  }
  const keeper = new SampleKeeper()
  if (isAtHand) {
    const sample = keeper.at(values.length)
    const words = Uint32Array.from(sample.rows, (row) => values[row]!)
    sample.columns.set('k', { words, validity: undefined, dictionary: undefined })
  }
  return { rows: values.length, columns: new Map([['k', column]]), sample: keeper }
}

function pairsOf(left: DeviceRelation, right: DeviceRelation, keys?: number): number {
  const all = [left, right]
  const run = {
    originOf: (column: unknown) => {
      const relation = all.find(({ columns }) => columns.get('k') === column)
      return relation && { relation, name: 'k' }
    },
  }
  const indexed = keys === undefined ? undefined : new Map([[0, keys]])
  const [l, r] = [
    estimateTable(run, Table.ofRelation(left)),
    estimateTable(run, Table.ofRelation(right), indexed),
  ]
  return joinMatches(ON_FIRST, l, r).pairs
}

t.test('pairs of tables, from what is at hand', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const skewed = () => Uint32Array.from({ length: 20_000 }, (_, row) => (random.chance(0.5) ? 7 : row + 10))
  const [left, right] = [skewed(), skewed()]
  const [sevens, others] = [left, right].map((values) => values.filter((value) => value === 7).length)
  const seen = pairsOf(relationOf(left, true), relationOf(right, true))
  t.ok(Math.abs(seen / (sevens! * others!) - 1) < 0.2, `half of both are one: ${Math.round(seen)}`)
  const unseen = pairsOf(relationOf(left, false), relationOf(right, false), 10_001)
  t.ok(unseen < 50_000, `where only the number of keys is known: ${Math.round(unseen)}`)
})

t.test('the commonest value', async (t) => {
  const values = Uint32Array.from({ length: 20_000 }, (_, row) => (row % 4 === 0 ? 7 : row))
  const commonest = (isAtHand: boolean) => {
    const relation = relationOf(values, isAtHand)
    const estimate = estimateTable({ originOf: () => ({ relation, name: 'k' }) }, Table.ofRelation(relation))
    return commonestRows(estimate, estimate.columns[0]!)
  }
  t.ok(Math.abs(commonest(true) / 5000 - 1) < 0.2, `${commonest(true)} of 5000`)
  t.equal(commonest(false), 0, 'unknown')
})

t.test('of a part of a relation', async (t) => {
  const relation = relationOf(
    Uint32Array.from({ length: 20_000 }, (_, row) => row % 100),
    true,
  )
  const run = { originOf: () => ({ relation, name: 'k' }) }
  const table = new Table(500, Table.ofRelation(relation).columns)
  const { rows, columns, sources } = estimateTable(run, table)
  t.equal(rows, 500)
  const source = sources.get(columns[0]!.from!.source)!
  t.ok(
    Math.abs(source.weights.reduce((sum, weight) => sum + weight, 0) - 500) < 1e-6,
    'its sample stands for so many',
  )
})
