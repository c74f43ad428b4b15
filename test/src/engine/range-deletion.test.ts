import t from 'tap'
import type { WriteBatch } from '../../../gpu/index-structure.js'
import { LIMITS } from '../../../protocol/limits.js'
import { type IndexDefinition, WriteOp } from '../../../protocol/types.js'
import type { Engine } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { Random, seedOfRun } from '../../random.js'
import { blobs, openEngine, u32 } from './open-engine.js'

const KEYS = 5000
// So that a range takes several slices.
Object.assign(LIMITS, { scanEntries: 512, frameBytes: 4096 * 64 })

const column = (...values: number[]) => ({ bytes: u32(...values), width: 4 })
const range = (from?: number, to?: number) => ({
  from: from === undefined ? undefined : u32(from),
  to: to === undefined ? undefined : u32(to),
})

/** How often each key is there. */
async function contents(engine: Engine, name: string): Promise<number[]> {
  const keys = Array.from({ length: KEYS }, (_, key) => key)
  const counts = await engine.index(name).read({ op: 'count' }, { keys: column(...keys) })
  return [...new Uint32Array(new Uint8Array(counts).buffer)]
}

for (const structure of ['css', 'prefix'] as const) {
  t.test(`ranges are deleted from ${structure} trees between other writes, also over restarts`, async (t) => {
    const seed = seedOfRun()
    t.comment(`TEST_SEED=${seed}`)
    const random = new Random(seed)
    const directory = t.testdir()
    let engine = await openEngine(t, { directory, structures: prefixTrees })
    const definition: IndexDefinition = {
      ...{ name: 'a', keyType: 'u32', payloadKind: 'u32', unique: false },
      structure,
    }
    await engine.createIndex(definition)
    const model = new Array<number>(KEYS).fill(0)
    for (let step = 0; step < 12; step++) {
      const keys = Array.from({ length: random.pick([10, 3000]) }, () => random.below(KEYS))
      for (const key of keys) model[key]++
      const inserted = engine
        .index('a')
        .write({ ops: WriteOp.insert, keys: column(...keys), payloads: column(...keys) })
      const from = random.chance(0.2) ? undefined : random.below(KEYS)
      const to = random.chance(0.2) ? undefined : random.below(KEYS)
      const options = { fromExclusive: random.chance(0.5), toExclusive: random.chance(0.5) }
      const deleting = engine.index('a').deleteRange({ ...range(from, to), ...options })
      const first = from === undefined ? 0 : from + Number(options.fromExclusive)
      const end = to === undefined ? KEYS : to + Number(!options.toExclusive)
      let expected = 0
      for (let key = first; key < end; key++) {
        expected += model[key]
        model[key] = 0
      }
      await inserted
      t.equal(await deleting, expected)
      if (step % 4 === 3) {
        await engine.close()
        engine = await openEngine(t, { directory, structures: prefixTrees })
      }
      t.same(await contents(engine, 'a'), model)
    }
  })
}

t.test('a repeat is answered by what went at first, also over a restart', async (t) => {
  const directory = t.testdir()
  let engine = await openEngine(t, { directory })
  await engine.createIndex({ name: 'texts', keyType: 'string', payloadKind: 'bytes', unique: false })
  const keys = blobs('a', 'ab', 'b', 'c')
  const insert = () =>
    engine.index('texts').write({ ops: WriteOp.insert, keys, payloads: blobs('1', '2', '3', '4') })
  await insert()
  const id = { client: 'c', number: 1 }
  const all = { from: Buffer.from('ab'), to: Buffer.from('c'), toExclusive: true }
  t.equal(await engine.index('texts').deleteRange(all, id), 2)
  await insert()
  t.equal(await engine.index('texts').deleteRange(all, id), 2)
  await engine.close()
  engine = await openEngine(t, { directory })
  t.equal(await engine.index('texts').deleteRange(all, id), 2)
  t.equal(await engine.index('texts').deleteRange(all, { client: 'c', number: 2 }), 2)
  const [count] = await engine.index('texts').read({ op: 'countRanges', ranges: 1 }, {})
  t.equal(count, 4n)
  const other = { ops: WriteOp.deleteKey, keys }
  await t.rejects(engine.index('texts').write(other, id), { code: 'BAD_REQUEST' })
})

t.test(
  'what fails before the log changes nothing, and what fails after it is done all the same',
  async (t) => {
    let broken = 0
    const engine = await openEngine(t, {
      structures: {
        ...prefixTrees,
        create: async (device, shape) => {
          const structure = await prefixTrees.create(device, shape)
          const prepare = structure.prepare.bind(structure)
          return Object.assign(structure, {
            prepare: async (batch: WriteBatch) => {
              if (broken > 0 && --broken === 0) throw new Error('on purpose')
              return prepare(batch)
            },
          })
        },
      },
    })
    await engine.createIndex({ name: 'a', keyType: 'u32', payloadKind: 'u32', unique: true })
    const keys = Array.from({ length: KEYS }, (_, key) => key)
    await engine.index('a').write({ ops: WriteOp.insert, keys: column(...keys), payloads: column(...keys) })
    broken = 1
    await t.rejects(engine.index('a').deleteRange({}), { message: 'on purpose' })
    t.equal((await contents(engine, 'a')).filter((count) => count === 1).length, KEYS)
    broken = 2
    t.equal(await engine.index('a').deleteRange(range(10)), KEYS - 10)
    t.equal((await contents(engine, 'a')).filter((count) => count === 1).length, 10)
  },
)
