import t from 'tap'
import { StoredRelation } from '../../../../gpu/relational/stored/stored-relation.js'
import { WarpdexError } from '../../../../protocol/errors.js'
import type { ColumnDefinition, RelationDefinition } from '../../../../protocol/relation.js'
import { settleBatch } from '../../../../protocol/relation-batch.js'
import { packBatch, type RelationValue } from '../../../../protocol/relation-values.js'
import { randomTyped } from '../../../column-values.js'
import { Random, seedOfRun } from '../../../random.js'
import { openDevice } from '../../open-device.js'
import { readBack } from './read-back.js'

const COLUMNS: readonly ColumnDefinition[] = [
  { name: 'u', type: 'u32', nullable: false },
  { name: 'i', type: 'i32', nullable: true },
  { name: 'f', type: 'f32', nullable: true },
  { name: 'w', type: 'u64', nullable: false },
  { name: 'x', type: 'i64', nullable: true },
  { name: 's', type: 'string', nullable: false },
  { name: 'n', type: 'string', nullable: true },
  { name: 'b', type: 'boolean', nullable: true },
  { name: 'd', type: 'date', nullable: false },
  { name: 't', type: 'timestamp', nullable: true },
  { name: 'g', type: 'f64', nullable: false },
  { name: 'c', type: 'decimal(9,4)', nullable: true },
]
const DEFINITION: RelationDefinition = { name: 'all', columns: COLUMNS }

type Rows = Record<string, RelationValue[]>

function randomValue({ type }: ColumnDefinition, random: Random): RelationValue {
  const word = random.word()
  switch (type) {
    case 'u32':
      return word
    case 'i32':
      return word | 0
    case 'f32':
      return Math.fround(word / 7)
    case 'u64':
      return (BigInt(word) << 32n) | BigInt(random.word())
    case 'i64':
      return BigInt.asIntN(64, (BigInt(word) << 32n) | BigInt(random.word()))
    case 'string':
      // Characters whose order in UTF-16 is not that of their bytes are among them.
      return Array.from({ length: random.below(4) }, () =>
        random.pick(['a', 'b', 'é', '\u{1f600}', '\uff01', '\ufeff']),
      ).join('')
    default:
      return randomTyped(random, type)
  }
}

function rowsOf(count: number, random: Random, nulls: number): Rows {
  return Object.fromEntries(
    COLUMNS.map((column) => [
      column.name,
      Array.from({ length: count }, () =>
        column.nullable && random.chance(nulls) ? null : randomValue(column, random),
      ),
    ]),
  )
}

const device = await openDevice(t)

void t.test('batches read back as they were appended', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  let stored = await StoredRelation.create(device, COLUMNS)
  t.teardown(() => stored.destroy())
  const model: Rows = Object.fromEntries(COLUMNS.map(({ name }) => [name, []]))
  const add = async (...parts: Rows[]) => {
    const prepared = await stored.prepare(
      parts.map((rows) => settleBatch(packBatch(rows, DEFINITION), DEFINITION)),
    )
    prepared.apply()
    for (const rows of parts) for (const { name } of COLUMNS) model[name].push(...rows[name])
  }
  const check = async (what: string) => {
    t.same(await readBack(device, stored.relation), model, what)
    t.equal(stored.relation.rows, model.u.length)
  }

  await check('an empty relation')
  await add(rowsOf(5, random, 0))
  await check('no nulls, no bitmaps')
  t.equal(stored.relation.columns.get('i')?.validity, undefined)
  await add(rowsOf(28, random, 0.3))
  await add(rowsOf(31, random, 0), rowsOf(0, random, 0), rowsOf(1, random, 1), rowsOf(33, random, 0.5))
  await check('nulls, and strings that come between others, in batches that go together')

  const image = await stored.snapshot()
  await add(rowsOf(5000, random, 0.1))
  await check('regions that have grown')
  const parts = new Map<string, Uint8Array>()
  for (const { name, chunks } of image.parts) {
    const all: Uint8Array[] = []
    for await (const chunk of chunks) all.push(chunk.slice())
    parts.set(name, Buffer.concat(all))
  }
  image.release()
  stored.destroy()
  stored = await StoredRelation.restore(device, COLUMNS, image.meta, async function* (name) {
    yield parts.get(name) ?? new Uint8Array(0)
  })
  for (const { name } of COLUMNS) model[name].length = 98
  await check('the image that was taken before')
  await add(rowsOf(100, random, 0.5))
  await check('goes on from its image')

  const discarded = await stored.prepare([
    settleBatch(packBatch(rowsOf(70, random, 0.5), DEFINITION), DEFINITION),
  ])
  discarded.discard()
  await check('as if it had never been prepared')
})

void t.test(
  'a sample is kept until strings have other numbers, facts until there are other rows',
  async (t) => {
    const columns = [{ name: 's', type: 'string', nullable: true }] as const
    const definition = { name: 'sampled', columns }
    const stored = await StoredRelation.create(device, columns)
    t.teardown(() => stored.destroy())
    const add = async (...s: (string | null)[]) => {
      const prepared = await stored.prepare([settleBatch(packBatch({ s }, definition), definition)])
      prepared.apply()
    }
    const sample = () => stored.relation.sample!.at(stored.relation.rows)
    await add(...Array.from({ length: 100 }, () => 'm'))
    const first = sample()
    const { facts } = stored.relation
    facts?.set('s', { bits: 0, common: 0n, nulls: false, ascending: true, unique: false })
    await add('m', null, 'z')
    t.equal(sample(), first, 'numbers of strings stay as they are')
    t.equal(stored.relation.facts, facts)
    t.equal(facts?.size, 0, 'facts are not of the rows that came')
    await add('a')
    const second = sample()
    t.not(second, first, 'a string has come before others')
    await add(...Array.from({ length: 50 }, () => 'm'))
    t.not(sample(), second, 'the relation has grown by a half')
  },
)

void t.test('what has no room is refused, and changes nothing', async (t) => {
  const columns = [
    { name: 'a', type: 'u64', nullable: false },
    { name: 'b', type: 'u32', nullable: true },
  ] as const
  const definition = { name: 'bounded', columns }
  const stored = await StoredRelation.create(device, columns)
  t.teardown(() => stored.destroy())
  const batch = (rows: number) =>
    settleBatch(packBatch({ a: new BigUint64Array(rows).fill(7n) }, definition), definition)
  const { regionBytes } = device
  device.regionBytes = 65_536
  const first = await stored.prepare([batch(8192)])
  first.apply()
  await t.rejects(stored.prepare([batch(1)]), { code: 'OUT_OF_DEVICE_MEMORY', message: /holds 8192/ })
  device.regionBytes = regionBytes
  device.structureBytes = 200_000
  await t.rejects(stored.prepare([batch(10_000)]), {
    code: 'OUT_OF_DEVICE_MEMORY',
    message: /200000 are allowed/,
  })
  device.structureBytes = Number.POSITIVE_INFINITY
  t.equal(stored.relation.rows, 8192)
  const { a, b } = await readBack(device, stored.relation)
  t.ok(a.every((value) => value === 7n) && b.every((value) => value === null))
})

void t.test('giving memory back takes none', async (t) => {
  const columns = [
    { name: 'a', type: 'u64', nullable: false },
    { name: 'b', type: 'u32', nullable: true },
  ] as const
  const definition = { name: 'settled', columns }
  const stored = await StoredRelation.create(device, columns)
  t.teardown(() => stored.destroy())
  const allocatePages = device.allocatePages.bind(device)
  t.teardown(() => Object.assign(device, { allocatePages }))
  const model: Rows = { a: [], b: [] }
  const add = async (rows: number) => {
    const next: Rows = { a: [], b: [] }
    for (let row = 0; row < rows; row++) {
      next.a.push(BigInt(row))
      next.b.push(row % 3 === 0 ? null : row)
    }
    const prepared = await stored.prepare([settleBatch(packBatch(next, definition), definition)])
    prepared.apply()
    for (const name of ['a', 'b']) model[name].push(...next[name])
  }
  await add(5000)
  await add(5005)
  const { deviceBytes } = stored.stats()
  device.allocatePages = () => {
    throw new WarpdexError('OUT_OF_DEVICE_MEMORY', 'the device has no room')
  }
  await stored.settle()
  const settled = stored.stats().deviceBytes
  t.ok(settled < deviceBytes)
  device.allocatePages = allocatePages
  await add(7)
  t.same(await readBack(device, stored.relation), model)
  await stored.settle()
  t.ok(stored.stats().deviceBytes < deviceBytes)
  t.same(await readBack(device, stored.relation), model)
})
