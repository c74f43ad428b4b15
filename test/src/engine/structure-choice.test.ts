import t from 'tap'
import { Engine } from '../../../src/engine/engine.js'
import { settleStructure, structureReason } from '../../../src/engine/index-definitions.js'
import { reads } from '../../reads.js'
import { writeTo } from '../../writes.js'

t.test('the structure of new indexes', async (t) => {
  t.strictSame(settleStructure({}, undefined), { structure: 'css' })
  t.strictSame(settleStructure({ structure: 'prefix' }, undefined), {})
  t.strictSame(settleStructure({ structure: 'css' }, undefined), { structure: 'css' })
  for (const option of [{ layout: 'full' }, { partitionLevels: 2 }, { linked: true }] as const) {
    t.strictSame(settleStructure(option, undefined), option)
    t.match(structureReason(option), /asked for, which only prefix trees have/)
  }
  t.match(structureReason({ structure: 'css' }), /half the memory/)
})

t.test('the structure of an index that is there already is right where none is named', async (t) => {
  t.strictSame(settleStructure({}, {}), {})
  t.strictSame(settleStructure({}, { structure: 'css' }), { structure: 'css' })
  t.strictSame(settleStructure({ structure: 'css' }, {}), { structure: 'css' })
})

t.test('an index says which structure it has, and why', async (t) => {
  const engine = await Engine.open({ directory: t.testdir() })
  t.teardown(() => engine.close())
  const content = { keyType: 'u32', payloadKind: 'u32', unique: true } as const
  await engine.createIndex({ ...content, name: 'a' })
  await engine.createIndex({ ...content, name: 'b', structure: 'prefix' })
  t.equal(await engine.createIndex({ ...content, name: 'b' }, { ifNotExists: true }), false)
  await t.rejects(engine.createIndex({ ...content, name: 'b', structure: 'css' }, { ifNotExists: true }), {
    code: 'INDEX_EXISTS',
  })
  const [a, b] = engine.stats().indexes
  t.match(a, { structure: 'css', structureReason: /unless something else/ })
  t.match(b, { structure: 'prefix', structureReason: /it was asked for/ })
  const keys = new Uint8Array(Uint32Array.from([3, 1, 2]).buffer)
  await writeTo(engine.index('a'), { ops: 0, keys, payloads: keys })
  t.match(await reads(engine.index('a')).explain(keys), {
    strategy: 'sequential',
    reason: /CSS-tree: .* 3 sorted keys/,
  })
})
