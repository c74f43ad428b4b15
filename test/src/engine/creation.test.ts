import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Committer } from '../../../persistence/disk/committer.js'
import { Store } from '../../../persistence/store.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { RelationDefinition } from '../../../protocol/relation.js'
import { packBatch } from '../../../protocol/relation-values.js'
import type { IndexDefinition } from '../../../protocol/types.js'
import type { Engine } from '../../../src/engine/index.js'
import { modelStructures } from '../../model-structure.js'
import { openEngine } from './open-engine.js'

const TEXTS: RelationDefinition = {
  name: 'texts',
  columns: [{ name: 'text', type: 'string', nullable: false }],
}
const BY_TEXT = { name: 'by text', relation: 'texts', columns: ['text'] }
const PLAIN: IndexDefinition = { name: 'plain', keyType: 'u32', payloadKind: 'u32', unique: false }

function names(engine: Engine): string[] {
  return [...engine.relations(), ...engine.list()].map(({ name }) => name)
}

/** An engine with a relation of one row, over which there can be no index: its string is longer than a key may be. */
async function openTexts(t: Test, directory: string): Promise<Engine> {
  const engine = await openEngine(t, { directory })
  await engine.createRelation(TEXTS)
  await engine.relation('texts').append(packBatch({ text: ['x'.repeat(5000)] }, TEXTS))
  return engine
}

t.test('a crash while an index is created that cannot be leaves nothing of it', async (t) => {
  const folder = t.testdir()
  const directory = join(folder, 'data')
  const engine = await openTexts(t, directory)
  const { commit } = Committer.prototype
  const copies: string[] = []
  const copy = () => {
    const to = join(folder, `copy ${copies.length}`)
    cpSync(directory, to, { recursive: true })
    copies.push(to)
  }
  copy()
  const restore = t.intercept(Committer.prototype, 'commit', {
    async value(this: Committer, ...given: Parameters<Committer['commit']>) {
      await commit.apply(this, given)
      copy()
    },
  }).restore
  await t.rejects(engine.createRelationIndex(BY_TEXT), {
    code: 'TOO_LARGE',
    message: /keys of up to 4096 bytes/,
  })
  restore()
  for (const crashed of copies) t.same(names(await openEngine(t, { directory: crashed })), ['texts'])
})

t.test('what could not be created leaves nothing, also where nothing more can be stored', async (t) => {
  const directory = t.testdir()
  const engine = await openTexts(t, directory)
  t.intercept(Store.prototype, 'drop', {
    value: () => Promise.reject(new WarpdexError('DISK_FULL', 'on purpose')),
  })
  await t.rejects(engine.createRelationIndex(BY_TEXT), { code: 'TOO_LARGE' })
  await engine.close()
  t.same(names(await openEngine(t, { directory })), ['texts'])
})

t.test('what cannot be stored gives back what it has on the device', async (t) => {
  let structures = 0
  const engine = await openEngine(t, {
    structures: {
      ...modelStructures,
      create: async (device, shape) => {
        const structure = await modelStructures.create(device, shape)
        const destroy = structure.destroy.bind(structure)
        structures++
        return Object.assign(structure, {
          destroy: () => {
            structures--
            destroy()
          },
        })
      },
    },
  })
  const { commit } = Committer.prototype
  let isFull = true
  t.intercept(Committer.prototype, 'commit', {
    value(this: Committer, ...given: Parameters<Committer['commit']>) {
      return isFull ? Promise.reject(new WarpdexError('DISK_FULL', 'on purpose')) : commit.apply(this, given)
    },
  })
  const waiting = engine.createIndex(PLAIN)
  const stats = engine.index('plain').ready()
  await t.rejects(waiting, { code: 'DISK_FULL' })
  await t.rejects(stats, { code: 'DISK_FULL' })
  t.same(names(engine), [])
  t.equal(structures, 0)
  t.equal(engine.stats().server.deviceBytes, 0)
  t.throws(() => engine.index('plain'), { code: 'UNKNOWN_INDEX' })
  isFull = false
  await engine.createIndex(PLAIN)
  t.type(engine.index('plain').id, 'number')
})
