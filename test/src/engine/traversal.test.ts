import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type {
  IndexShape,
  ReadColumns,
  ReadOp,
  ReadRequest,
  ReadResults,
  WriteBatch,
} from '../../../gpu/index-structure.js'
import type { Traversal } from '../../../protocol/traversal.js'
import { type IndexDefinition, WriteOp } from '../../../protocol/types.js'
import type { StructureFactory } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { ModelStructure, modelStructures } from '../../model-structure.js'
import { reads } from '../../reads.js'
import { writeTo } from '../../writes.js'
import { openEngine, u32, values } from './open-engine.js'

const numbers: IndexDefinition = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false }
const directed: Traversal = { strategy: 'directed', resolution: 'reversed' }
const sequential: Traversal = { strategy: 'sequential' }

/** A call of a structure: its operation, its keys, and the traversal that it was to use. */
type Seen = readonly [op: string, keys: readonly number[], traversal: Traversal | undefined]

/** Models, and what they were asked to do. The first gets wait until they are let go. */
function watchedModels() {
  const seen: Seen[] = []
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  class Watched extends ModelStructure {
    override async read<Op extends ReadOp>(
      request: ReadRequest<Op>,
      columns: ReadColumns,
    ): Promise<ReadResults[Op]> {
      if (request.op === 'get') {
        const { traversal } = request as ReadRequest<'get'>
        seen.push(['get', values(columns.keys!.bytes), traversal])
        await held
      }
      return super.read(request, columns)
    }

    override prepare(batch: WriteBatch) {
      seen.push(['prepare', values(batch.keys.bytes), batch.traversal])
      return super.prepare(batch)
    }
  }
  const structures: StructureFactory = {
    ...modelStructures,
    create: async (_device, shape) => new Watched(shape),
  }
  return { seen, structures, release }
}

const write = (traversal: Traversal | undefined, ...keys: number[]) => ({
  ops: WriteOp.insert,
  keys: u32(...keys),
  payloads: u32(...keys),
  traversal,
})

t.test('a get that names a traversal shares no dispatch', async (t) => {
  const { seen, structures, release } = watchedModels()
  const engine = await openEngine(t, { structures })
  await engine.createIndex(numbers)
  const index = engine.index('numbers')
  await writeTo(index, write(undefined, 1, 2, 3))
  seen.length = 0
  // Those without one come at once, so they share a dispatch, each padded to eight keys.
  const gets = [
    reads(index).get(u32(1)),
    reads(index).get(u32(2)),
    reads(index).get(u32(3)),
    reads(index).get(u32(1), undefined, directed),
    reads(index).get(u32(2), undefined, sequential),
    reads(index).get(u32(9)),
  ]
  await setImmediate()
  release()
  const payloads = (await Promise.all(gets)).map((got) => values(got.payloads))
  t.same(payloads, [[1], [2], [3], [1], [2], [0]])
  const shared = seen.filter(([, , traversal]) => traversal === undefined)
  t.same(
    shared.map(([, keys]) => keys.length),
    [32],
  )
  t.same(
    seen.filter(([, , traversal]) => traversal !== undefined),
    [
      ['get', [1], directed],
      ['get', [2], sequential],
    ],
  )
})

t.test('a write that names a traversal goes alone, in its turn', async (t) => {
  const directory = t.testdir()
  const { seen, structures } = watchedModels()
  const engine = await openEngine(t, { directory, structures })
  await engine.createIndex(numbers)
  const index = engine.index('numbers')
  const writes = [
    write(undefined, 1),
    write(undefined, 2),
    write(undefined, 3),
    write(directed, 4),
    write(directed, 5),
    write(sequential),
    write(undefined, 6),
    write(undefined),
    write(undefined, 7),
  ]
  await Promise.all(writes.map((columns) => writeTo(index, columns)))
  t.strictSame(seen, [
    ['prepare', [1], undefined],
    ['prepare', [2, 3], undefined],
    ['prepare', [4], directed],
    ['prepare', [5], directed],
    ['prepare', [], sequential],
    ['prepare', [6, 7], undefined],
  ])
  await engine.close()

  const again = watchedModels()
  const reopened = await openEngine(t, { directory, structures: again.structures })
  t.same(
    again.seen.map(([, keys, traversal]) => [keys, traversal]),
    [[[1, 2, 3, 4, 5, 6, 7], undefined]],
    'the log names no traversal',
  )
  t.same(values(await reads(reopened.index('numbers')).count(u32(1, 4, 7))), [1, 1, 1])
})

/** The shapes that structures were made with. */
function watchedShapes() {
  const shapes: IndexShape[] = []
  const structures: StructureFactory = {
    ...modelStructures,
    create: async (_device, shape) => {
      shapes.push(shape)
      return new ModelStructure(shape)
    },
  }
  return { shapes, structures }
}

t.test('a layout reaches the structure, also after a restart', async (t) => {
  const directory = t.testdir()
  const full: IndexDefinition = {
    ...numbers,
    name: 'full',
    keyType: 'string',
    layout: 'full',
    allocation: 'coalesced',
    partitionLevels: 4,
    linked: true,
  }
  const definitions: IndexDefinition[] = [{ ...numbers, structure: 'css' }, full]
  const expected = [
    { keyType: 'u32', unique: false, structure: 'css', payloadBytes: 4, matchFrom: 0 },
    {
      keyType: 'string',
      unique: false,
      layout: 'full',
      allocation: 'coalesced',
      partitionLevels: 4,
      linked: true,
      payloadBytes: 4,
      matchFrom: 0,
    },
  ]
  const first = watchedShapes()
  const engine = await openEngine(t, { directory, structures: first.structures })
  for (const definition of definitions) await engine.createIndex(definition)
  t.strictSame(first.shapes, expected)
  t.strictSame(engine.list(), definitions)
  t.match(engine.stats().indexes[1], full)
  await engine.close()
  const second = watchedShapes()
  const again = await openEngine(t, { directory, structures: second.structures })
  t.strictSame(second.shapes, expected)
  t.strictSame(again.list(), definitions)
})

t.test('what a definition says of the defaults makes no other index', async (t) => {
  const engine = await openEngine(t)
  const again = (definition: IndexDefinition) => engine.createIndex(definition, { ifNotExists: true })
  t.equal(await engine.createIndex({ ...numbers, layout: 'compact', allocation: 'demand' }), true)
  t.strictSame(engine.list(), [{ ...numbers, structure: 'css' }])
  t.equal(await again(numbers), false)
  t.equal(await again({ ...numbers, layout: 'compact', linked: false, partitionLevels: undefined }), false)
  const other = { ...numbers, name: 'other', keyType: 'string', layout: 'full', partitionLevels: 8 } as const
  t.equal(await again(other), true)
  t.equal(await again({ ...other, allocation: 'demand' }), false)
  for (const change of [
    { layout: 'compact' },
    { allocation: 'coalesced' },
    { partitionLevels: 'auto' },
    { linked: true },
  ] as const) {
    await t.rejects(again({ ...other, ...change }), {
      code: 'INDEX_EXISTS',
      message:
        /"other" already, of string keys and u32 payloads, not unique, full layout, partition levels 8; drop/,
    })
  }
  const wrong = { ...numbers, name: 'wrong', partitionLevels: 0 }
  await t.rejects(engine.createIndex(wrong), { code: 'BAD_REQUEST', message: /from 1 to 64/ })
  t.equal(engine.list().length, 2)
})

t.test('explanations and traversals on the device', async (t) => {
  const engine = await openEngine(t, { structures: prefixTrees })
  await engine.createIndex(numbers)
  const index = engine.index('numbers')
  await writeTo(index, write(sequential, 1, 2))
  t.same(values((await reads(index).get(u32(2, 3), undefined, sequential)).payloads), [2, 0])
  t.same(values((await reads(index).getNext({ keys: u32(1), traversal: sequential })).keys), [2])
  t.match(await reads(index).explain(u32(1, 2, 3)), { strategy: 'sequential', batch: 3, partitions: null })
  const refusal = { code: 'BAD_REQUEST', message: /the index has no partitions/ }
  await t.rejects(reads(index).get(u32(1), undefined, directed), refusal)
  await t.rejects(reads(index).getNext({ keys: u32(1), traversal: directed }), refusal)
  await t.rejects(reads(index).explain(u32(1), undefined, directed), refusal)
  await t.rejects(writeTo(index, write(directed, 5)), refusal)
  t.same(values(await reads(index).count(u32(5))), [0], 'a write that is refused changes nothing')
})

t.test('an explanation can be cancelled, and ends with its index', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex({ ...numbers, partitionLevels: 2 })
  const index = engine.index('numbers')
  await writeTo(index, write(undefined, 1))
  t.match(await reads(index).explain(u32(1), undefined, directed), { ...directed, tables: { answer: 4 } })
  await t.rejects(reads(index, { cancelled: true }).explain(u32(1)), { code: 'CANCELLED' })
  await engine.dropIndex('numbers')
  await t.rejects(reads(index).explain(u32(1)), { code: 'UNKNOWN_INDEX' })
})
