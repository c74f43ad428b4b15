import t from 'tap'
import type { RelationDefinition } from '../../../protocol/relation.js'
import { packBatch } from '../../../protocol/relation-values.js'
import { Condition, type IndexDefinition, WriteOp } from '../../../protocol/types.js'
import type { Engine } from '../../../src/engine/index.js'
import { reads } from '../../reads.js'
import { openEngine, u32 } from './open-engine.js'

const definition = (name: string): IndexDefinition => {
  return { name, keyType: 'u32', payloadKind: 'u32', unique: false }
}
const column = (...values: number[]) => ({ bytes: u32(...values), width: 4 })
const insert = (engine: Engine, name: string, ...keys: number[]) =>
  engine.index(name).write({ ops: WriteOp.insert, keys: column(...keys), payloads: column(...keys) })
const counts = (engine: Engine, name: string, ...keys: number[]) =>
  reads(engine.index(name))
    .count(u32(...keys))
    .then((found) => [...new Uint32Array(new Uint8Array(found).buffer)])
const namesOf = (engine: Engine) =>
  engine
    .list()
    .map(({ name }) => name)
    .sort()

t.test('names are given and swapped, and stay so over restarts', async (t) => {
  const directory = t.testdir()
  let engine = await openEngine(t, { directory })
  await engine.createIndex(definition('a'))
  await engine.createIndex(definition('b'))
  await insert(engine, 'a', 1)
  await insert(engine, 'b', 2, 2)
  const { handle, generation } = engine.index('a').handle

  await engine.swapIndexes('a', 'b')
  t.same(
    [await counts(engine, 'a', 1, 2), await counts(engine, 'b', 1, 2)],
    [
      [0, 2],
      [1, 0],
    ],
  )
  t.same(engine.index('b').handle, { handle, generation: generation + 1 })
  t.throws(() => engine.openedIndex({ handle, generation }), { code: 'INDEX_CHANGED' })
  t.equal(engine.openedIndex({ handle, generation: generation + 1 }), engine.index('b'))

  await engine.renameIndex('b', 'c')
  t.same(namesOf(engine), ['a', 'c'])
  t.match(await engine.openedByName('c'), { ...definition('c'), handle, generation: generation + 2 })
  await insert(engine, 'c', 3)
  await engine.createIndex(definition('b'))
  await engine.close()

  engine = await openEngine(t, { directory })
  t.same(namesOf(engine), ['a', 'b', 'c'])
  t.same(await counts(engine, 'c', 1, 2, 3), [1, 0, 1])
  t.same(engine.index('c').handle, { handle, generation: generation + 2 })
  t.same(engine.index('b').handle.generation, 1)
  await engine.dropIndex('c')
  await engine.renameIndex('a', 'c')
  t.same(await counts(engine, 'c', 2), [2])
})

t.test('names that do not do are refused, and nothing changes', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex(definition('a'))
  await engine.createIndex(definition('b'))
  const { handle } = engine.index('a')
  await t.rejects(engine.renameIndex('none', 'c'), { code: 'UNKNOWN_INDEX' })
  await t.rejects(engine.swapIndexes('a', 'none'), { code: 'UNKNOWN_INDEX' })
  await t.rejects(engine.renameIndex('a', 'b'), { code: 'INDEX_EXISTS' })
  await t.rejects(engine.swapIndexes('a', 'a'), { code: 'BAD_REQUEST' })
  t.same(engine.index('a').handle, handle)
  await engine.renameIndex('a', 'a')
  t.same(namesOf(engine), ['a', 'b'])
})

t.test('changes, creations and drops take effect in the order of the calls', async (t) => {
  const engine = await openEngine(t)
  const outcomes = await Promise.allSettled([
    engine.createIndex(definition('a')),
    engine.renameIndex('a', 'b'),
    engine.createIndex(definition('a')),
    engine.createIndex(definition('b')),
    engine.swapIndexes('a', 'b'),
    engine.dropIndex('b'),
    engine.renameIndex('a', 'b'),
    engine.dropIndex('a'),
  ])
  t.same(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'done' : outcome.reason.code)),
    ['done', 'done', 'done', 'INDEX_EXISTS', 'done', 'done', 'done', 'UNKNOWN_INDEX'],
  )
  t.same(engine.index('b').handle, { handle: 1, generation: 4 })
})

t.test('a change that waits for another name keeps its place before those of its own', async (t) => {
  const engine = await openEngine(t)
  for (const name of ['a', 'b', 'c']) await engine.createIndex(definition(name))
  const [a, c] = [engine.index('a'), engine.index('c')]
  await Promise.all([
    engine.swapIndexes('b', 'c'),
    engine.renameIndex('c', 'd'),
    engine.swapIndexes('a', 'd'),
    engine.dropIndex('a'),
    engine.createIndex(definition('a')),
    engine.renameIndex('b', 'e'),
  ])
  t.same(namesOf(engine), ['a', 'd', 'e'])
  t.equal(engine.index('d'), a)
  t.equal(engine.index('e'), c)
})

t.test(
  'what was asked before a change is done before, and nothing after it by the old generation',
  async (t) => {
    const engine = await openEngine(t)
    await engine.createIndex(definition('a'))
    await engine.createIndex(definition('b'))
    const index = engine.index('a')
    const { handle } = index
    const before = insert(engine, 'a', 7)
    const swapped = engine.swapIndexes('a', 'b')
    t.throws(() => engine.openedIndex(handle), { code: 'INDEX_CHANGED' })
    const opened = engine.openedByName('a')
    await before
    await swapped
    t.same((await opened).handle, engine.index('a').handle.handle)
    t.same([await counts(engine, 'a', 7), await counts(engine, 'b', 7)], [[0], [1]])
  },
)

t.test('indexes over columns change their names, and go with their relation', async (t) => {
  const engine = await openEngine(t)
  await engine.createRelation({ name: 'r', columns: [{ name: 'k', type: 'u32', nullable: false }] })
  await engine.createRelationIndex({ name: 'by k', relation: 'r', columns: ['k'] })
  await engine.createIndex(definition('plain'))
  await engine.swapIndexes('by k', 'plain')
  t.same(engine.relations()[0].indexes, [{ name: 'plain', columns: ['k'] }])
  const renamed = engine.renameIndex('plain', 'by number')
  const dropped = engine.dropRelation('r')
  // The name is free once the relation is gone.
  const created = engine.createIndex(definition('by number'))
  await Promise.all([renamed, dropped, created])
  t.same(namesOf(engine), ['by k', 'by number'])
})

t.test('indexes over columns are swapped with others beside batches that write to both', async (t) => {
  const engine = await openEngine(t)
  const rows: RelationDefinition = { name: 'rows', columns: [{ name: 'n', type: 'u32', nullable: false }] }
  await engine.createRelation(rows)
  for (const name of ['over', 'other over'])
    await engine.createRelationIndex({ name, relation: 'rows', columns: ['n'] })
  await engine.createIndex(definition('a'))
  const [over, plain] = [engine.index('over'), engine.index('a')]
  const conditions = (number: number) => ({
    index: over,
    keys: column(number),
    conditions: { kinds: Uint8Array.of(Condition.absent), payloads: undefined, sequences: undefined },
  })
  const writes = (number: number) => [
    { index: plain, columns: { ops: WriteOp.insert, keys: column(number), payloads: column(number) } },
  ]
  const append = (number: number) => ({
    relation: engine.relation('rows'),
    rows: packBatch({ n: [number] }, rows),
  })
  const write = async (number: number) => {
    const own = { writes: writes(number), conditions: [conditions(number)] }
    await Promise.all([
      engine.writeBatch({ ...own, appends: [] }),
      engine.writeBatch({ ...own, appends: [append(number)] }),
      append(number).relation.append(append(number).rows),
    ])
  }
  await Promise.all([
    write(1),
    engine.swapIndexes('over', 'a'),
    write(2),
    engine.swapIndexes('over', 'other over'),
    write(3),
    engine.swapIndexes('other over', 'a'),
  ])
  t.same([engine.index('other over'), engine.index('over').isDerived], [over, true])
  t.equal(engine.index('a').isDerived, false)
  t.same(
    [await counts(engine, 'a', 1, 2, 3), await counts(engine, 'over', 1, 2, 3)],
    [
      [2, 2, 2],
      [2, 2, 2],
    ],
  )
})
