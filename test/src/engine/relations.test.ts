import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { restoreBackup, verify } from '../../../persistence/backup/restore.js'
import { WriteLog } from '../../../persistence/log/write-log.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { ColumnDefinition, RelationDefinition } from '../../../protocol/relation.js'
import { packBatch, type RelationValue } from '../../../protocol/relation-values.js'
import { TupleEncoder } from '../../../protocol/tuple-key.js'
import { isFixedKeyType, WriteOp } from '../../../protocol/types.js'
import type { Engine } from '../../../src/engine/index.js'
import { openSharedDevice } from '../../gpu/open-device.js'
import { readBack } from '../../gpu/relational/stored/read-back.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { separateDevices } from '../../separate-devices.js'
import { writeTo } from '../../writes.js'
import { openEngine, u32, values } from './open-engine.js'

separateDevices()

type Rows = Record<string, RelationValue[]>

const COLUMNS: readonly ColumnDefinition[] = [
  { name: 'id', type: 'u32', nullable: false },
  { name: 'price', type: 'i64', nullable: true },
  { name: 'city', type: 'string', nullable: true },
]
const ORDERS: RelationDefinition = { name: 'orders', columns: COLUMNS }

const device = await openSharedDevice(t)

function open(t: Test, options: Parameters<typeof openEngine>[1] = {}): Promise<Engine> {
  return openEngine(t, { openDevice: async () => device, ...options })
}

function randomRows(random: Random, count: number): Rows {
  const each = (make: () => RelationValue) => Array.from({ length: count }, make)
  return {
    id: each(() => random.word()),
    price: each(() => (random.chance(0.2) ? null : BigInt(random.below(1000)) - 500n)),
    city: each(() => (random.chance(0.2) ? null : `city ${random.below(300)}`)),
  }
}

/** A relation of an engine, and what it must hold. */
class Subject {
  readonly rows: Rows = { id: [], price: [], city: [] }
  readonly definition: RelationDefinition

  constructor(name = ORDERS.name) {
    this.definition = { ...ORDERS, name }
  }

  async append(engine: Engine, rows: Rows, id?: { client: string; number: number }): Promise<void> {
    const first = this.rows.id.length
    for (const { name } of COLUMNS) this.rows[name].push(...rows[name])
    const added = await engine.relation(this.definition.name).append(packBatch(rows, ORDERS), id)
    t.same(added, { first, rows: rows.id.length })
  }

  async check(t: Test, engine: Engine, what: string): Promise<void> {
    const { name } = this.definition
    t.same(await engine.relation(name).use((relation) => readBack(device, relation)), this.rows, what)
  }
}

void t.test('what was appended is there, also after restarts with and without snapshots', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const folder = t.testdir({ data: {}, backups: {} })
  const directory = join(folder, 'data')
  const backupDirectory = join(folder, 'backups')
  const orders = new Subject()
  let engine = await open(t, { directory, backupDirectory })
  t.equal(await engine.createRelation(ORDERS), true)
  t.equal(await engine.createRelation(ORDERS, { ifNotExists: true }), false)
  await t.rejects(engine.createRelation(ORDERS), { code: 'RELATION_EXISTS', message: /city:string\?/ })
  await t.rejects(engine.createRelation({ ...ORDERS, columns: COLUMNS.slice(1) }, { ifNotExists: true }), {
    code: 'RELATION_EXISTS',
  })
  t.throws(() => engine.relation('others'), { code: 'UNKNOWN_RELATION' })
  await Promise.all([33, 1, 0, 70].map((count) => orders.append(engine, randomRows(random, count))))
  await orders.check(t, engine, 'appends that came together')
  t.match(engine.relation('orders').stats(), { rows: 104, resident: true, logRecords: 4 })

  t.match(await engine.backUp('b'), { indexes: 0, relations: 1 })
  const restored = join(backupDirectory, 'restored')
  t.match(await restoreBackup(join(backupDirectory, 'b'), restored), {
    relations: [{ name: 'orders', position: 4 }],
  })
  await orders.check(t, await open(t, { directory: restored }), 'from a backup')

  const restart = async () => {
    await engine.close()
    engine = await open(t, { directory })
  }
  await restart()
  await orders.check(t, engine, 'from the log alone')
  await orders.append(engine, randomRows(random, 50))
  t.match(await engine.snapshot(), [{ relation: 'orders', position: 5 }])
  await orders.append(engine, randomRows(random, 50))
  await restart()
  await orders.check(t, engine, 'from a snapshot and the log after it')
  t.same(engine.relations(), [{ ...ORDERS, indexes: [] }])

  t.equal(await engine.dropRelation('orders'), true)
  t.equal(await engine.dropRelation('orders', { ifExists: true }), false)
  await t.rejects(engine.dropRelation('orders'), { code: 'UNKNOWN_RELATION' })
  await engine.createRelation({ ...ORDERS, columns: COLUMNS.slice(0, 1) })
  await restart()
  t.equal(engine.relation('orders').stats().rows, 0)
  t.same(readdirSync(join(directory, 'snapshots')), [])
})

void t.test('a write id is used once, also over restarts', async (t) => {
  const directory = t.testdir()
  let engine = await open(t, { directory })
  await engine.createRelation(ORDERS)
  const batch = packBatch({ id: [1, 2], price: [null, 5] }, ORDERS)
  const id = { client: 'somebody', number: 7 }
  const relation = engine.relation('orders')
  const answers = await Promise.all([relation.append(batch, id), relation.append(batch, id)])
  t.same(answers, [
    { first: 0, rows: 2 },
    { first: 0, rows: 2 },
  ])
  await engine.close()
  engine = await open(t, { directory })
  t.same(await engine.relation('orders').append(batch, id), { first: 0, rows: 2 })
  t.equal(engine.relation('orders').stats().rows, 2)
  await engine.createRelation({ ...ORDERS, name: 'more' })
  await t.rejects(engine.relation('more').append(batch, id), { code: 'BAD_REQUEST', message: /write id 7/ })
})

void t.test('appends that do not fit their relation say why', async (t) => {
  const engine = await open(t)
  await engine.createRelation(ORDERS)
  const relation = engine.relation('orders')
  const values = (...numbers: number[]) => new Uint8Array(Uint32Array.from(numbers).buffer)
  const strings = (...texts: string[]) => {
    const offsets = Uint32Array.from([0, ...texts.map((_, i) => texts.slice(0, i + 1).join('').length)])
    return { bytes: new TextEncoder().encode(texts.join('')), offsets }
  }
  const refused = async (columns: Record<string, object>, message: RegExp, code = 'BAD_REQUEST') => {
    const batch = { rows: 2, columns: new Map(Object.entries(columns)) }
    // What a hostile client sends is not what the types say.
    await t.rejects(relation.append(batch as Parameters<typeof relation.append>[0]), { code, message })
  }
  const id = { values: values(1, 2) }
  await refused({}, /"id" \(u32\) is missing/)
  await refused({ id: { values: values(1) } }, /4 bytes of values; 2 rows take 8/)
  await refused({ id: { ...id, validity: Uint8Array.of(1) } }, /no value in row 1/)
  await refused({ id: { ...id, validity: new Uint8Array(2) } }, /2 bytes of validity; 2 rows take 1/)
  await refused({ id, size: id }, /no column "size"; its columns are id, price, city/)
  await refused({ id: { ...id, strings: strings('a') } }, /takes no strings/)
  await refused({ id, city: id }, /needs strings/)
  await refused({ id, city: { ...id, strings: strings('b', 'c') } }, /row 1 .*has string 2; there are 2/)
  await refused({ id, city: { ...id, strings: strings('c', 'b') } }, /must differ and ascend/)
  await refused({ id, city: { ...id, strings: strings('b', 'b') } }, /must differ and ascend/)
  await refused(
    { id, city: { ...id, strings: { bytes: Uint8Array.of(0xff), offsets: Uint32Array.of(0, 1) } } },
    /not UTF-8/,
  )
  await refused(
    { id, city: { ...id, strings: { bytes: new Uint8Array(3), offsets: Uint32Array.of(0, 2, 1, 3) } } },
    /must not descend/,
  )
  await refused(
    { id, city: { ...id, strings: { bytes: new Uint8Array(1 << 17), offsets: Uint32Array.of(0, 1 << 17) } } },
    /65536 are allowed/,
    'TOO_LARGE',
  )
  t.equal(relation.stats().rows, 0)
})

void t.test('relations take turns on a device that cannot hold all of them', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const directory = t.testdir()
  const subjects = ['a', 'b', 'c', 'd'].map((name) => new Subject(name))
  // A relation takes a page at least for each of its columns and for each bitmap.
  const engine = await open(t, { directory, deviceMemory: 16_000 })
  for (const { definition } of subjects) await engine.createRelation(definition)
  for (const name of ['a', 'b']) {
    await engine.createRelationIndex({ name: `${name} by city`, relation: name, columns: ['city'] })
  }
  const work: Promise<unknown>[] = []
  for (let i = 0; i < 60; i++) {
    const subject = random.pick(subjects)
    const [one, other] = [random.pick(subjects), random.pick(subjects)].map(
      ({ definition }) => definition.name,
    )
    if (random.chance(0.5)) work.push(subject.append(engine, randomRows(random, random.below(40))))
    else {
      const rows = new Map(subjects.map(({ definition, rows }) => [definition.name, rows.id.length]))
      work.push(
        engine.useRelations([one, other], async (relations) => {
          await device.workDone()
          for (const [name, relation] of relations) t.equal(relation.rows, rows.get(name), `rows of ${name}`)
        }),
      )
    }
  }
  await Promise.all(work)
  for (const subject of subjects) await subject.check(t, engine, 'read one after the other')
  for (const { definition, rows } of subjects.slice(0, 2)) {
    await checkIndex(
      t,
      engine,
      `${definition.name} by city`,
      hexOf.city(rows),
      `the index of ${definition.name}`,
    )
  }
  t.ok(engine.stats().server.pagedOutRelations > 0)
  // Indexes are models here, which have no device memory.
  const relationBytes = engine.stats().relations.reduce((sum, { deviceBytes }) => sum + deviceBytes, 0)
  t.ok(relationBytes <= 16_000, `${relationBytes} bytes`)
  await engine.snapshot('a').catch(() => {})
  await engine.snapshot()
  await engine.close()
  const { findings, relations } = await verify(directory)
  t.same(findings, [])
  t.equal(relations.length, 4)
})

/** What an index over columns must give for each key, numbers of rows ascending, against what a scan of it gives. */
async function checkIndex(t: Test, engine: Engine, name: string, keys: (string | null)[], what: string) {
  const expected = new Map<string, number[]>()
  keys.forEach((key, row) => {
    if (key !== null) expected.set(key, [...(expected.get(key) ?? []), row])
  })
  const encoded = [...expected.keys()]
  const bytes = encoded.map((key) => Buffer.from(key, 'hex'))
  const { keyType } = engine.index(name).definition
  const offsets = isFixedKeyType(keyType)
    ? undefined
    : Uint32Array.from([
        0,
        ...bytes.map((_, i) => bytes.slice(0, i + 1).reduce((sum, { length }) => sum + length, 0)),
      ])
  const found = await reads(engine.index(name)).getAll(Buffer.concat(bytes), undefined, offsets)
  const numbers = values(found.payloads)
  const got = new Map(encoded.map((key, i) => [key, numbers.slice(found.offsets[i], found.offsets[i + 1])]))
  t.same(got, expected, what)
  t.equal(engine.index(name).stats().payloads, keys.filter((key) => key !== null).length)
}

const hexOf = {
  id: (rows: Rows) => rows.id.map((id) => Buffer.from(u32(Number(id))).toString('hex')),
  city: (rows: Rows) =>
    rows.city.map((city) => (city === null ? null : Buffer.from(String(city)).toString('hex'))),
  both: (rows: Rows) =>
    rows.city.map((city, row) => {
      const price = rows.price[row]
      if (city === null || price === null) return null
      const encoder = new TupleEncoder(['string', 'i64'])
      encoder.add([String(city), BigInt(price)])
      return Buffer.from(encoder.column().bytes).toString('hex')
    }),
}

void t.test('indexes over columns follow their relation', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const directory = t.testdir()
  const orders = new Subject()
  let engine = await open(t, { directory })
  const check = async (what: string) => {
    await checkIndex(t, engine, 'by id', hexOf.id(orders.rows), `${what}: numbers`)
    await checkIndex(t, engine, 'by city', hexOf.city(orders.rows), `${what}: strings`)
    await checkIndex(t, engine, 'by both', hexOf.both(orders.rows), `${what}: tuples`)
  }
  await engine.createRelation(ORDERS)
  await orders.append(engine, randomRows(random, 100))
  const by = { relation: 'orders', name: 'by id', columns: ['id'] }
  t.match(await engine.createRelationIndex(by), { created: true, definition: { name: 'by id' } })
  t.match(await engine.createRelationIndex(by, { ifNotExists: true }), { created: false })
  await t.rejects(engine.createRelationIndex(by), { code: 'INDEX_EXISTS' })
  await t.rejects(engine.createRelationIndex({ ...by, columns: ['size'] }), {
    code: 'BAD_REQUEST',
    message: /"size"/,
  })
  await t.rejects(engine.createRelationIndex({ ...by, columns: [] }), { code: 'BAD_REQUEST' })
  await t.rejects(engine.createRelationIndex({ ...by, relation: 'none' }), { code: 'UNKNOWN_RELATION' })
  const made = [
    engine.createRelationIndex({ ...by, name: 'by city', columns: ['city'], structure: 'prefix' }),
    orders.append(engine, randomRows(random, 20)),
    engine.createRelationIndex({ ...by, name: 'by both', columns: ['city', 'price'] }),
    orders.append(engine, randomRows(random, 1)),
    orders.append(engine, randomRows(random, 30)),
  ]
  await Promise.all(made)
  await check('created between appends')
  t.match(engine.index('by both').definition, {
    keyType: 'tuple(string,i64)',
    payloadKind: 'u32',
    of: { relation: 'orders', columns: ['city', 'price'] },
  })
  t.match(engine.relations(), [{ indexes: [{ name: 'by id' }, { name: 'by city' }, { name: 'by both' }] }])
  const write = { ops: WriteOp.insert, keys: u32(1), payloads: u32(1) }
  await t.rejects(writeTo(engine.index('by id'), write), {
    code: 'BAD_REQUEST',
    message: /append to relation "orders"/,
  })
  await t.rejects(engine.snapshot('by id'), { code: 'BAD_REQUEST' })
  await engine.snapshot()
  await orders.append(engine, randomRows(random, 9))
  const long = packBatch({ id: [1], city: ['x'.repeat(5000)] }, ORDERS)
  await t.rejects(engine.relation('orders').append(long), {
    code: 'TOO_LARGE',
    message: /keys of up to 4096 bytes/,
  })
  await orders.check(t, engine, 'without the row whose key is too long')

  const restart = async () => {
    await engine.close()
    engine = await open(t, { directory })
  }
  await restart()
  await check('after a restart')
  await orders.append(engine, randomRows(random, 9))
  await check('appends after a restart')
  await engine.dropIndex('by city')
  t.match(engine.relations(), [{ indexes: [{ name: 'by id' }, { name: 'by both' }] }])
  await orders.append(engine, randomRows(random, 9))
  await engine.dropRelation('orders')
  t.throws(() => engine.index('by id'), { code: 'UNKNOWN_INDEX' })
  t.same(engine.list(), [])
  await restart()
  t.same(engine.list(), [])
})

void t.test('what cannot be logged leaves no trace', async (t) => {
  const engine = await open(t)
  const orders = new Subject()
  await engine.createRelation(ORDERS)
  await engine.createRelationIndex({ name: 'by city', relation: 'orders', columns: ['city'] })
  await orders.append(engine, { id: [1], price: [1n], city: ['b'] })
  const { append } = WriteLog.prototype
  WriteLog.prototype.append = () => Promise.reject(new WarpdexError('DISK_FULL', 'on purpose'))
  const batch = packBatch({ id: [2, 3], price: [null, 3n], city: ['a', null] }, ORDERS)
  const failed = [1, 2].map(() => t.rejects(engine.relation('orders').append(batch), { code: 'DISK_FULL' }))
  await Promise.all(failed)
  WriteLog.prototype.append = append
  await orders.check(t, engine, 'as before')
  await checkIndex(t, engine, 'by city', hexOf.city(orders.rows), 'the index as before')
  await orders.append(engine, { id: [2, 3], price: [null, 3n], city: ['a', null] })
  await orders.check(t, engine, 'once there is room again')
  await checkIndex(t, engine, 'by city', hexOf.city(orders.rows), 'the index once there is room again')
})

void t.test('after the loss of a device relations and their indexes are rebuilt', async (t) => {
  const lost = await Device.open('software')
  const devices = [lost, device]
  const engine = await open(t, { openDevice: async () => devices.shift() ?? device })
  const orders = new Subject()
  const random = new Random(3)
  await engine.createRelation(ORDERS)
  await engine.createRelationIndex({ name: 'by city', relation: 'orders', columns: ['city'] })
  await orders.append(engine, randomRows(random, 60))
  lost.gpu.destroy()
  const during = orders.append(engine, randomRows(random, 5)).catch(() => {
    for (const values of Object.values(orders.rows)) values.length = 60
  })
  await lost.lost
  await during
  await orders.check(t, engine, 'on another device')
  await checkIndex(t, engine, 'by city', hexOf.city(orders.rows), 'the index on another device')
  await orders.append(engine, randomRows(random, 7))
  await checkIndex(t, engine, 'by city', hexOf.city(orders.rows), 'and it goes on')
})
