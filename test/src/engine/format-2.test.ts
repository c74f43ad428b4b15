import { cpSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { verify } from '../../../persistence/backup/restore.js'
import type { Engine } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { openSharedDevice } from '../../gpu/open-device.js'
import { readBack } from '../../gpu/relational/stored/read-back.js'
import { temporaryDirectory } from '../../persistence/store-helpers.js'
import { reads } from '../../reads.js'
import { writeTo } from '../../writes.js'
import { fill, INDEXES, itemsOf, RELATION } from './format-2.js'
import { openEngine } from './open-engine.js'

const STORED = fileURLToPath(new URL('./format-2', import.meta.url))
/** When `STORED` was written: the server remembers outcomes of writes for a day, so that the test takes place in that hour. */
const WRITTEN_AT = Date.parse('2026-11-23T17:24:00Z')

const device = await openSharedDevice(t)

/** All entries of all indexes, with the token of the last one of each, and all rows. */
async function contentOf(engine: Engine): Promise<unknown> {
  const content: Record<string, unknown> = {}
  const everything = { ranges: 1, limit: 10_000, from: undefined, to: undefined, tokens: undefined }
  for (const { name } of INDEXES) content[name] = await reads(engine.index(name)).scan(everything)
  content[RELATION.name] = await engine.relation(RELATION.name).use((relation) => readBack(device, relation))
  return content
}

t.test('a data directory of format 2 that was made once opens, with all that is in it', async (t) => {
  t.intercept(Date, 'now', { value: () => WRITTEN_AT })
  const given = { structures: prefixTrees, openDevice: async () => device }
  const fresh = await openEngine(t, { ...given, directory: t.testdir() })
  const codes = await fill(fresh)
  const directory = temporaryDirectory(t)
  cpSync(STORED, directory, { recursive: true })
  t.match(await verify(directory), { findings: [] })
  const warnings: string[] = []
  const onWarning = (message: string) => warnings.push(message)
  const stored = await openEngine(t, { ...given, directory, onWarning })
  t.same(stored.list(), fresh.list())
  t.same(stored.relations(), fresh.relations())
  t.same(await contentOf(stored), await contentOf(fresh), 'the same entries and rows')
  for (let batch = 0; batch < codes.length / INDEXES.length; batch++) {
    for (const [i, { name }] of INDEXES.entries()) {
      const again = await writeTo(stored.index(name), itemsOf(name, batch), { client: name, number: batch })
      t.same([...again], [...codes[batch * INDEXES.length + i]], 'what became of a write is known')
    }
  }
  t.same(await contentOf(stored), await contentOf(fresh), 'and it was not made again')
  t.same(warnings, [], 'nothing is passed over')
})
