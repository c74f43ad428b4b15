import t from 'tap'
import { StoredRelation } from '../../../gpu/relational/stored/stored-relation.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import { DeviceBudget } from '../../../src/engine/device-budget.js'
import { type Keeper, KeptResults } from '../../../src/engine/kept-results.js'
import { openDevice } from '../../gpu/open-device.js'

const COLUMNS: readonly ColumnDefinition[] = [{ name: 'u', type: 'u32', nullable: false }]

t.test('who may not replace a result keeps one under a free name only', async (t) => {
  const device = await openDevice(t)
  const host = {
    budget: new DeviceBudget(Number.POSITIVE_INFINITY),
    clock: { date: () => 0, now: () => 0, after: () => () => {} },
    device: async () => device,
  }
  const results = new KeptResults(
    host,
    () => {},
    () => () => false,
  )
  t.teardown(() => results.close())
  const asked: string[] = []
  const keeper: Keeper = {
    authoriseReplace: (name) => {
      asked.push(name)
      throw new Error('no right')
    },
  }
  const put = async (name: string, by?: Keeper) => {
    const stored = await StoredRelation.create(device, COLUMNS)
    try {
      await results.put({ name, columns: COLUMNS }, 60, stored, device, by)
    } catch (error) {
      stored.destroy()
      throw error
    }
  }
  results.refuse('a', keeper)
  await put('a', keeper)
  t.strictSame(asked, [], 'a free name needs nothing more')
  const first = results.get('a')
  t.throws(() => results.refuse('a', keeper), /no right/)
  await t.rejects(put('a', keeper), /no right/, 'one that came while the query ran is seen, too')
  t.strictSame(asked, ['a', 'a'])
  t.equal(results.get('a'), first)
  await put('a', { authoriseReplace: () => {} })
  t.not(results.get('a'), first)
})
