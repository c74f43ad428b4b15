import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { childProgram } from '../../../bench/child-program.js'
import {
  type Client,
  connect,
  type RelationDefinition,
  type RelationValue,
  relation,
} from '../../../clients/sdk/index.js'
import { asBytes } from '../../../protocol/columns.js'
import { LIMITS } from '../../../protocol/limits.js'
import { Random, seedOfRun } from '../../random.js'
import { RawClient } from '../../src/server/raw-client.js'
import { start } from '../../src/server/start.js'

type Rows = Record<string, RelationValue[]>

const ORDERS: RelationDefinition = {
  name: 'orders',
  columns: [
    { name: 'id', type: 'u32', nullable: false },
    { name: 'price', type: 'f32', nullable: true },
    { name: 'total', type: 'u64', nullable: false },
    { name: 'city', type: 'string', nullable: true },
  ],
}

async function clientOf(t: Test, url: string): Promise<Client> {
  const client = await connect(url, { reconnect: { attempts: 0 } })
  t.teardown(() => client.close())
  return client
}

function randomRows(random: Random, count: number): Rows {
  const each = (make: () => RelationValue) => Array.from({ length: count }, make)
  return {
    id: each(() => random.word()),
    price: each(() => (random.chance(0.3) ? null : random.below(1000) / 4)),
    total: each(() => BigInt(random.word()) << 20n),
    city: each(() => (random.chance(0.3) ? null : random.pick(['Aachen', 'Łódź', 'Zürich', '', '東京']))),
  }
}

void t.test('rows go in and come out, through threads that listen', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const { url } = await start(t, { ioThreads: 1 })
  const client = await clientOf(t, url)
  t.equal(await client.createRelation(ORDERS), client.relation(ORDERS.name))
  t.equal(await client.createRelation(ORDERS, { ifNotExists: true }), client.relation(ORDERS.name))
  await t.rejects(client.createRelation(ORDERS), { code: 'RELATION_EXISTS' })
  const orders = client.relation('orders')
  t.match(await orders.definition(), ORDERS)
  const model: Rows = { id: [], price: [], total: [], city: [] }
  const appends = [100, 1, 35, 3].map((count) => {
    const rows = randomRows(random, count)
    const first = model.id.length
    for (const name in model) model[name].push(...rows[name])
    return orders.append(rows).then((added) => t.same(added, { first, rows: count }))
  })
  await Promise.all(appends)
  t.same(await orders.read(), model)
  const part = await orders.read({ columns: ['city', 'id'], from: 33, limit: 70 })
  t.same(part, { city: model.city.slice(33, 103), id: model.id.slice(33, 103) })
  t.same(Object.keys(part), ['city', 'id'])
  t.same(await orders.read({ columns: ['id'], from: 1000 }), { id: [] })
  t.same(await orders.append({ id: Uint32Array.of(7), total: BigUint64Array.of(8n) }), {
    first: 139,
    rows: 1,
  })
  t.same(await orders.read({ from: 139 }), { id: [7], price: [null], total: [8n], city: [null] })
  t.match(await orders.stats(), { rows: 140, resident: true, deviceBytes: Number })
  t.match(await client.stats(), { relations: [{ name: 'orders', rows: 140 }] })
  t.match(await client.takeSnapshot(), [{ relation: 'orders', position: 5 }])
  t.same(await client.listRelations(), [{ ...ORDERS, indexes: [] }])
  t.equal(await client.dropRelation('orders'), true)
  t.equal(await client.dropRelation('orders', { ifExists: true }), false)
  await t.rejects(orders.append({ id: [1] }), { code: 'UNKNOWN_RELATION' })
  await t.rejects(client.relation('none').read(), { code: 'UNKNOWN_RELATION' })
})

void t.test('values that a column cannot hold are refused before they are sent', async (t) => {
  const { url } = await start(t)
  const client = await clientOf(t, url)
  await client.createRelation(ORDERS)
  const orders = client.relation('orders')
  const refused = (input: Parameters<typeof orders.append>[0], message: RegExp) =>
    t.rejects(orders.append(input), { code: 'BAD_REQUEST', message })
  await refused({ id: [1, -1], total: [1, 2] }, /row 1 of column "id" has -1, which is not of type u32/)
  await refused({ id: [1.5], total: [1] }, /1\.5, which is not of type u32/)
  await refused({ id: [null], total: [1] }, /"id" \(u32\) has no value in row 0/)
  await refused({ id: [1], total: [-1n] }, /which is not of type u64/)
  await refused({ id: [1], total: [1], city: [3] }, /which is not of type string/)
  await refused({ id: [1], total: [1], city: ['\ud800'] }, /surrogate/)
  await refused({ id: [1], total: [1, 2] }, /column "id" has 1 rows, column "total" 2/)
  await refused(
    { id: [1], total: Uint32Array.of(1) },
    /takes a BigUint64Array or an array, not a Uint32Array/,
  )
  await refused({ id: [1], size: [1] }, /no column "size"/)
  await refused({ id: [1] }, /"total" \(u64\) is missing/)
  t.equal((await orders.stats()).rows, 0)
})

void t.test('frames that are wrong are refused, and the connection goes on', async (t) => {
  const { url } = await start(t, { ioThreads: 1 })
  const client = await RawClient.connect(t, url)
  let id = 0
  const ask = async (header: object, sections = {}) =>
    (await client.ask({ id: id++, ...header }, sections)).header
  const refused = async (header: object, sections: object, message: RegExp, code = 'BAD_REQUEST') => {
    t.match(await ask(header, sections), { ok: false, error: { code, message } })
  }
  const create = { op: 'createRelation', relation: 'r' }
  const column = { name: 'a', type: 'u32', nullable: false }
  await refused(create, {}, /needs "columns"/)
  await refused({ ...create, columns: [] }, {}, /at least one/)
  await refused({ ...create, columns: [column, column] }, {}, /two columns/)
  await refused(
    { ...create, columns: [{ ...column, type: 'f16' }] },
    {},
    /boolean, u32, .*, string, decimal\(p,s\)/,
  )
  await refused({ ...create, columns: [{ ...column, size: 1 }] }, {}, /unknown "size"/)
  await refused({ ...create, columns: [7] }, {}, /column 1 needs a "name"/)
  await refused({ ...create, columns: Array(129).fill(column) }, {}, /128 are allowed/, 'TOO_LARGE')
  t.match(await ask({ ...create, columns: [column, { name: 's', type: 'string', nullable: true }] }), {
    ok: true,
  })
  const append = { op: 'append', relation: 'r', rows: 1, columns: ['a'] }
  const word = { type: 'u32', bytes: asBytes(Uint32Array.of(5)) }
  await refused({ ...append, columns: 'a' }, { '0.values': word }, /a list of names/)
  await refused({ ...append, columns: ['a', 'a'] }, { '0.values': word, '1.values': word }, /there twice/)
  await refused(append, {}, /needs a section "0.values"/)
  await refused(append, { '0.values': { ...word, type: 'i32' } }, /are sent as u32, not i32/)
  await refused({ ...append, rows: 2 }, { '0.values': word }, /2 rows take 8/)
  await refused({ ...append, rows: 2 ** 40 }, { '0.values': word }, /1048576 are allowed/, 'TOO_LARGE')
  await refused({ ...append, writeId: 3 }, { '0.values': word }, /hello/)
  await refused(append, { '0.values': word, '1.values': word }, /has no section/)
  const text = { ...append, columns: ['a', 's'] }
  await refused(text, { '0.values': word, '1.values': word, '1.strings': word }, /strings and their offsets/)
  await refused({ op: 'readRelation', relation: 'r', limit: 2 ** 30 }, {}, /from 0 to 1048576/)
  await refused({ op: 'readRelation', relation: 'r', limit: 1, columns: ['b'] }, {}, /no column "b"/)
  await refused({ op: 'stats', relation: 'r', index: 'i' }, {}, /not both/)
  t.match(await ask(append, { '0.values': word }), { ok: true, first: 0, rows: 1 })
})

void t.test('what was acknowledged survives the death of the server', async (t) => {
  const directory = t.testdir()
  const serve = async () => {
    const program = [...process.execArgv, childProgram('test/torture/kill-server'), directory, 'device']
    const child = spawn(process.execPath, program, { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    const [url] = await once(createInterface(child.stdout), 'line')
    return { child, client: await clientOf(t, String(url)) }
  }
  const random = new Random(1)
  const first = await serve()
  await first.client.createRelation(ORDERS)
  const model: Rows = { id: [], price: [], total: [], city: [] }
  const orders = first.client.relation('orders')
  t.equal(await orders.createIndex('by id', ['id']), first.client.index('by id'))
  for (let i = 0; i < 5; i++) {
    const rows = randomRows(random, 40)
    for (const name in model) model[name].push(...rows[name])
    await orders.append(rows)
  }
  const unknown = orders.append(randomRows(random, 10)).catch(() => {})
  first.child.kill('SIGKILL')
  await Promise.all([once(first.child, 'exit'), unknown])
  const { client, child } = await serve()
  const read = await client.relation('orders').read({ limit: 200 })
  t.same(read, model)
  const { rows } = await client.relation('orders').stats()
  const found = await client.index<'u32', 'u32'>('by id').getMany(Uint32Array.from(model.id, Number))
  t.same([...found.payloads], [...model.id.keys()], 'the index is made again')
  t.ok([200, 210].includes(rows), 'the last append is there as a whole or not at all')
  client.close()
  child.kill('SIGTERM')
  await once(child, 'exit')
})

t.test(
  'holes of an array are missing values, and columns of different lengths are refused whole',
  async (t) => {
    const { url } = await start(t)
    const client = await clientOf(t, url)
    const values = {
      u32: [7, 7, 9],
      i32: [-7, 7, 9],
      u64: [7n, 7n, 9n],
      i64: [-7n, 7n, 9n],
      f32: [0.5, 7, 9],
      string: ['x', 'x', 'y'],
    } as const
    for (const [type, full] of Object.entries(values)) {
      const sparse: RelationValue[] = [...full]
      delete sparse[1]
      for (const nullable of [true, false]) {
        const columns = [{ name: 'a', type: type as keyof typeof values, nullable }]
        const name = `${type}-${nullable}`
        await client.createRelation({ name, columns })
        const append = client.relation(name).append({ a: sparse })
        if (nullable) {
          await append
          t.same(await client.relation(name).read(), { a: [full[0], null, full[2]] }, name)
        } else {
          await t.rejects(append, { code: 'BAD_REQUEST', message: /"a" .* has no value in row 1/ }, name)
        }
      }
    }
    await client.createRelation(ORDERS)
    const orders = client.relation('orders')
    const many = LIMITS.batchItems + 1
    const uneven = orders.append({ id: new Uint32Array(many), total: new BigUint64Array(many + 1) })
    await t.rejects(uneven, { code: 'BAD_REQUEST', message: /"id" has \d+ rows, column "total" \d+/ })
    for (const wrong of [new Set([1]), 'x', { length: 1 }, new DataView(new ArrayBuffer(4)), null]) {
      const append = orders.append({ id: wrong as never, total: [1] })
      await t.rejects(append, { code: 'BAD_REQUEST', message: /"id" takes an array or a typed array/ })
    }
    t.equal((await orders.stats()).rows, 0, 'nothing was stored')
  },
)

t.test('a column may have any name', async (t) => {
  const { url } = await start(t)
  const client = await clientOf(t, url)
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
  await client.createRelation({
    name: 'odd',
    columns: names.map((name) => ({ name, type: 'u32', nullable: false })),
  })
  const odd = client.relation('odd')
  const input = Object.fromEntries(names.map((name, i) => [name, [i, i + 10]]))
  await odd.append(input)
  await t.rejects(odd.append({ constructor: [1] }), { message: /"__proto__" .*is missing/ })
  const found = { read: await odd.read(), columns: await client.query(relation('odd')).columns() }
  for (const [what, columns] of Object.entries(found)) {
    t.strictSame(Object.entries(columns), Object.entries(input), what)
  }
  const rows = await client.query(relation('odd')).rows()
  t.strictSame(
    rows.map((row) => Object.entries(row)),
    [0, 10].map((more) => names.map((name, i) => [name, i + more])),
  )
})
