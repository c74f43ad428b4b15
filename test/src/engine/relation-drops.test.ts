import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Committer } from '../../../persistence/disk/committer.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { RelationDefinition } from '../../../protocol/relation.js'
import { packBatch } from '../../../protocol/relation-values.js'
import type { Engine } from '../../../src/engine/index.js'
import { reads } from '../../reads.js'
import { openEngine, u32, values } from './open-engine.js'

const NUMBERS: RelationDefinition = {
  name: 'numbers',
  columns: ['one', 'two'].map((name) => ({ name, type: 'u32', nullable: false })),
}
const INDEXES = NUMBERS.columns.map(({ name }) => ({
  name: `by ${name}`,
  relation: 'numbers',
  columns: [name],
}))

/** A relation of three rows with an index over each column. */
async function createNumbers(engine: Engine): Promise<void> {
  await engine.createRelation(NUMBERS)
  for (const index of INDEXES) await engine.createRelationIndex(index)
  await append(engine, 7, 8, 7)
}

async function append(engine: Engine, ...numbers: number[]): Promise<void> {
  await engine.relation('numbers').append(packBatch({ one: numbers, two: numbers }, NUMBERS))
}

/** Numbers of the rows in which a column is 7, by its index. */
async function sevens(engine: Engine, index: string): Promise<number[]> {
  return values((await reads(engine.index(index)).getAll(u32(7))).payloads)
}

function names(engine: Engine): string[] {
  return [...engine.relations(), ...engine.list()].map(({ name }) => name)
}

/** What happens with the commits of a store while a test lasts. */
function interceptCommits(t: Test, value: (commit: () => Promise<void>) => Promise<void>): void {
  const { commit } = Committer.prototype
  t.intercept(Committer.prototype, 'commit', {
    value(this: Committer, ...given: Parameters<Committer['commit']>) {
      return value(() => commit.apply(this, given))
    },
  })
}

t.test('a crash leaves a relation with all its indexes, or nothing of either', async (t) => {
  const folder = t.testdir()
  const directory = join(folder, 'data')
  const engine = await openEngine(t, { directory })
  await createNumbers(engine)
  const copies: string[] = []
  let isOver = false
  interceptCommits(t, async (commit) => {
    await commit()
    if (isOver) return
    const copy = join(folder, `after ${copies.length}`)
    cpSync(directory, copy, { recursive: true })
    copies.push(copy)
  })
  await engine.dropRelation('numbers')
  await engine.close()
  isOver = true
  t.ok(copies.length > 0)
  for (const copy of copies)
    t.same(names(await openEngine(t, { directory: copy })), [], copy.slice(folder.length))
})

t.test('a relation that cannot be dropped keeps its indexes', async (t) => {
  for (const refused of [1, 2, 3]) {
    await t.test(`commit ${refused} fails`, async (t) => {
      const directory = t.testdir()
      const engine = await openEngine(t, { directory })
      await createNumbers(engine)
      let commits = 0
      interceptCommits(t, async (commit) => {
        if (++commits === refused) throw new WarpdexError('DISK_FULL', 'on purpose')
        await commit()
      })
      const dropped = await engine.dropRelation('numbers').catch(() => false)
      t.equal(dropped, refused > 1, 'the first commit is the drop')
      const kept = dropped ? [] : ['numbers', 'by one', 'by two']
      t.same(names(engine), kept)
      if (!dropped) {
        await append(engine, 7)
        for (const { name } of INDEXES) t.same(await sevens(engine, name), [0, 2, 3], name)
      }
      await engine.close()
      t.same(names(await openEngine(t, { directory })), kept)
    })
  }
})

t.test('an index is dropped and made anew without a pause between', async (t) => {
  const engine = await openEngine(t)
  await createNumbers(engine)
  const [index] = INDEXES
  const before = engine.index('by one')
  const appended = append(engine, 7)
  const dropped = engine.dropIndex('by one')
  t.throws(() => engine.index('by one'), { code: 'UNKNOWN_INDEX' })
  await t.rejects(engine.dropIndex('by one'), { code: 'UNKNOWN_INDEX' })
  const created = engine.createRelationIndex(index, { ifNotExists: true })
  const found = sevens(engine, 'by one')
  t.match(await Promise.all([dropped, created]), [true, { created: true }])
  await appended
  t.same(await found, [0, 2, 3])
  t.not(engine.index('by one'), before)
  await append(engine, 7)
  t.same(await sevens(engine, 'by one'), [0, 2, 3, 4])
})

t.test('a relation is dropped and made anew, with its indexes, without a pause between', async (t) => {
  const engine = await openEngine(t)
  await createNumbers(engine)
  const three = { ...INDEXES[0], name: 'by three' }
  const all = Promise.all([
    engine.createRelationIndex(three),
    engine.dropRelation('numbers'),
    engine.createRelation(NUMBERS),
    ...[...INDEXES, three].map((index) => engine.createRelationIndex(index, { ifNotExists: true })),
    append(engine, 1, 7),
  ])
  const created = { created: true }
  t.match(await all, [created, true, true, created, created, created, undefined])
  t.same(names(engine).sort(), ['by one', 'by three', 'by two', 'numbers'])
  for (const { name } of [...INDEXES, three]) t.same(await sevens(engine, name), [1], name)
})

t.test('a snapshot of all leaves out what is dropped meanwhile', async (t) => {
  const engine = await openEngine(t)
  await createNumbers(engine)
  for (const name of ['plain', 'other'])
    await engine.createIndex({ name, keyType: 'u32', payloadKind: 'u32', unique: true })
  await engine.createRelation({ ...NUMBERS, name: 'more' })
  const taken = engine.snapshot()
  await Promise.all([engine.dropIndex('other'), engine.dropRelation('numbers')])
  t.match(await taken, [{ index: 'plain' }, { relation: 'more' }])
  t.equal((await taken).length, 2)
})
