import t from 'tap'
import { prefixTrees } from '../../../src/engine/structures.js'
import { openSharedDevice } from '../../gpu/open-device.js'
import { openEngine } from '../engine/open-engine.js'
import { appendRelation, appendRows } from './append-relation.js'
import { type Cell, hostRelation, rowsOf } from './host-relation.js'

const READER = { cancelled: false }
const device = await openSharedDevice(t)

function rowsFrom(texts: readonly string[], values: readonly (number | null)[]) {
  return hostRelation('r', [
    { name: 's', type: 'string', nullable: false, cells: texts },
    { name: 'v', type: 'i32', nullable: true, cells: values },
  ])
}

t.test('what was known of a relation is not held against rows that come', async (t) => {
  const engine = await openEngine(t, { structures: prefixTrees, openDevice: async () => device })
  const ordered = async (column: string, wanted: readonly Cell[], method: string) => {
    const query = { op: 'orderBy', input: { op: 'scan', relation: 'r' }, by: [{ column }] } as const
    t.equal((await engine.queries.explain(query, READER)).method, method)
    const { batch } = await engine.queries.start(query, READER)
    const place = batch.columns.findIndex(({ name }) => name === column)
    t.same(
      rowsOf([batch]).map((row) => row[place]),
      wanted,
    )
  }
  await appendRelation(engine, rowsFrom(['b', 'c', 'd'], [-5, 2, 2]))
  await ordered('s', ['b', 'c', 'd'], 'in order already')
  await ordered('v', [-5, 2, 2], 'in order already')
  await appendRows(engine, rowsFrom(['e'], [3]))
  await ordered('s', ['b', 'c', 'd', 'e'], 'in order already')
  await ordered('v', [-5, 2, 2, 3], 'in order already')
  await appendRows(engine, rowsFrom(['a'], [null]))
  await ordered('s', ['a', 'b', 'c', 'd', 'e'], 'radix sort')
  await ordered('v', [-5, 2, 2, 3, null], 'radix sort')
  await appendRows(engine, rowsFrom(['a'], [1_000_000]))
  await ordered('s', ['a', 'a', 'b', 'c', 'd', 'e'], 'radix sort')
  await ordered('v', [-5, 2, 2, 3, 1_000_000, null], 'radix sort')
})
