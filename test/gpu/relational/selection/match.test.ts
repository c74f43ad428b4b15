import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { DeviceMemory } from '../../../../gpu/memory/page-run.js'
import { codesIn, dictionaryOf, unitedDictionary } from '../../../../gpu/relational/query/dictionaries.js'
import { DictionaryTexts } from '../../../../gpu/relational/selection/dictionary-texts.js'
import type { Condition, SelectionPlan } from '../../../../gpu/relational/selection/selection-types.js'
import { Random, seedOfRun } from '../../../random.js'
import { hostRelation } from '../../../src/query/host-relation.js'
import { takenBytes } from '../../taken-bytes.js'
import { Model } from './model.js'
import { described } from './random-conditions.js'
import { SelectionBed, strategies, withWork } from './selection-bed.js'

const LETTERS = ['a', 'b', 'é', '\u{1f600}', ' ']
const PLAN: SelectionPlan = { kernels: [{ groups: [[0]], hands: 'rows' }] }

function randomText(random: Random, most: number): string {
  return Array.from({ length: random.below(most + 1) }, () => random.pick(LETTERS)).join('')
}

function randomPattern(random: Random, most: number): string {
  const characters = [...randomText(random, most)]
  return ['', ...characters].map((each) => (random.chance(0.4) ? random.pick(['%', '_']) : each)).join('')
}

/** A column of strings of few letters, and one of them that has nulls. */
function randomStrings(random: Random, rows: number) {
  const column = (name: string, nulls: number) => {
    const cells = Array.from({ length: rows }, () => (random.chance(nulls) ? null : randomText(random, 12)))
    return { name, type: 'string', nullable: nulls > 0, cells } as const
  }
  return hostRelation('strings', [column('s', 0), column('n', 0.2)])
}

t.test('texts of all lengths, found row by row and in the dictionary', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const table = randomStrings(random, 700)
  const model = new Model(table)
  for (const strategy of await strategies()) {
    const bed = await SelectionBed.create(table, strategy)
    for (const match of ['endsWith', 'contains', 'like'] as const) {
      for (const most of [0, 1, 2, 4, 7]) {
        const text = match === 'like' ? randomPattern(random, most) : randomText(random, most)
        const negated = random.chance(0.5)
        const conditions: Condition[] = [{ kind: 'match', column: most % 2, match, text, negated }]
        const { rows } = model.run(conditions, PLAN)
        for (const by of ['row', 'dictionary'] as const) {
          const found = await bed.run(conditions, PLAN, { kind: 'rows' }, { matchBy: new Map([[0, by]]) })
          t.same(found.rows, rows, `${strategy}, by ${by}, ${described(conditions)}`)
        }
        t.same((await bed.run(conditions, PLAN, { kind: 'rows' })).rows, rows)
      }
    }
  }
})

t.test('columns without strings', async (t) => {
  const cells = [null, null, null]
  const table = hostRelation('none', [{ name: 's', type: 'string', nullable: true, cells }])
  const bed = await SelectionBed.create(table)
  for (const match of ['endsWith', 'contains'] as const) {
    for (const by of ['row', 'dictionary'] as const) {
      const conditions: Condition[] = [{ kind: 'match', column: 0, match, text: '', negated: by === 'row' }]
      const found = await bed.run(conditions, PLAN, { kind: 'count' }, { matchBy: new Map([[0, by]]) })
      t.equal(found.count, 0)
    }
  }
})

t.test('merged dictionaries have the strings of both, and are made once', (t) => {
  const [left, right] = [dictionaryOf(['a', 'z', 'é']), dictionaryOf(['b', 'é'])]
  const { bytes, offsets } = unitedDictionary(left, right)
  t.equal(new TextDecoder().decode(bytes), 'abzé')
  t.same([...offsets], [0, 1, 2, 3, 5])
  t.equal(unitedDictionary(left, right), unitedDictionary(left, right))
  t.same([...codesIn(right, unitedDictionary(left, right))], [1, 3])
  t.end()
})

t.test('queries at the same time share a copy, which is made once', async (t) => {
  await withWork(async (work) => {
    const texts = new DictionaryTexts(work.device)
    const dictionary = dictionaryOf(['a'.repeat(100)])
    const taken = () => takenBytes(work.device)
    const before = taken()
    const copies = await Promise.all([texts.use(work, dictionary), texts.use(work, dictionary)])
    t.equal(copies[0], copies[1])
    t.equal(texts.bytes, copies[0]!.size)
    t.equal(taken() - before, texts.bytes)
    t.equal(await texts.use(work, dictionary), copies[0])
    t.equal(taken() - before, texts.bytes, 'it is copied once')
  })
})

t.test('a copy that cannot be made is tried again, and leaves nothing behind', async (t) => {
  await withWork(async (work) => {
    const { device } = work
    const destroyed: DeviceMemory[] = []
    const { upload } = device
    device.upload = (buffer) => {
      buffer.destroy = () => {
        destroyed.push(buffer)
        return undefined
      }
      throw new Error('no room')
    }
    t.teardown(() => {
      device.upload = upload
    })
    const texts = new DictionaryTexts(device)
    const dictionary = dictionaryOf(['a'])
    const both = await Promise.allSettled([texts.use(work, dictionary), texts.use(work, dictionary)])
    t.same(
      both.map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    t.same([destroyed.length, texts.bytes], [1, 0])
    device.upload = upload
    t.ok(await texts.use(work, dictionary))
  })
})

t.test('copies of dictionaries that were not used for longest make way', async (t) => {
  const [first, second] = [dictionaryOf(['a'.repeat(100)]), dictionaryOf(['b'.repeat(100)])]
  await withWork(async (work) => {
    const texts = new DictionaryTexts(work.device, 200)
    const copy = await texts.use(work, first)
    t.equal(await texts.use(work, first), copy, 'the same copy again')
    const before = texts.bytes
    await texts.use(work, second)
    t.equal(texts.bytes, before, 'one of both stays')
    const words = await work.readColumns([{ buffer: copy!, bytes: 108 }])
    t.equal(words[0]![107], 97, 'what was recorded with a copy still finds it')
    t.not(await texts.use(work, first), copy, 'it is made again')
  })
})

t.test(
  'copies make way where the device runs short, those in use with the work that uses them',
  async (t) => {
    await withWork(async (work) => {
      const { device } = work
      const texts = new DictionaryTexts(device)
      const [unused, used] = [dictionaryOf(['a'.repeat(100)]), dictionaryOf(['b'.repeat(100)])]
      await texts.use(work, unused)
      work.submit()
      const copy = await texts.use(work, used)
      const { createBuffer } = device.gpu
      t.teardown(() => {
        device.gpu.createBuffer = createBuffer
      })
      // The next buffer is one that no device has room for.
      device.gpu.createBuffer = (descriptor) => {
        device.gpu.createBuffer = createBuffer
        return device.gpu.createBuffer({ ...descriptor, size: device.gpu.limits.maxBufferSize + 4 })
      }
      const before = texts.bytes
      const buffer = await device.allocate(64, 'test')
      buffer.destroy()
      t.equal(texts.bytes, before / 2)
      t.equal(await texts.use(work, used), copy)
      texts.destroy()
      t.equal(texts.bytes, 0)
      const [words] = await work.readColumns([{ buffer: copy!, bytes: 108 }])
      t.equal(words![107], 98, 'what was recorded with a copy still finds it')
    })
  },
)

t.test('copies go with their dictionaries', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  await withWork(async (work) => {
    const texts = new DictionaryTexts(work.device)
    const kept = dictionaryOf(['a'])
    const copy = await texts.use(work, kept)
    await texts.use(work, dictionaryOf(['b']))
    work.submit()
    t.equal(texts.bytes, 2 * copy!.size)
    while (texts.bytes > copy!.size) {
      collect()
      await new Promise((resolve) => setImmediate(resolve))
    }
    t.equal(await texts.use(work, kept), copy, 'those that are there keep theirs')
  })
})
