import t from 'tap'
import { col, connect, type RelationDefinition } from '../../../clients/sdk/index.js'
import { start } from '../../src/server/start.js'

const ORDERS: RelationDefinition = {
  name: 'orders',
  columns: [
    { name: 'id', type: 'u32', nullable: false },
    { name: 'price', type: 'f32', nullable: true },
    { name: 'city', type: 'string', nullable: true },
  ],
}

void t.test('rows are deleted and updated by a condition', async (t) => {
  const directory = t.testdir()
  const server = await start(t, { directory })
  const client = await connect(server.url)
  t.teardown(() => client.close())
  const orders = await client.createRelation(ORDERS)
  const count = 1000
  await orders.append({
    id: Array.from({ length: count }, (_, i) => i),
    price: Array.from({ length: count }, (_, i) => (i % 10 === 0 ? null : i / 4)),
    city: Array.from({ length: count }, (_, i) => ['Aachen', 'Łódź'][i % 2]),
  })
  const byId = await orders.createIndex<'u32'>('by id', ['id'])
  t.equal(await orders.deleteRows({ where: col('id').lt(100).and(col('city').eq('Aachen')) }), 50)
  t.equal(await orders.deleteRows({ where: col('id').eq(2) }), 0, 'it is gone')
  t.equal(await byId.get(2), undefined)
  t.equal(await byId.get(3), 3)
  const price = col('price').plus(1)
  t.same(await orders.updateRows({ where: col('id').eq(3), set: { price, city: 'Zürich' } }), {
    first: 1000,
    rows: 1,
  })
  t.equal(await byId.get(3), 1000, 'it has another number')
  t.same(await orders.read({ from: 1000 }), { id: [3], price: [1.75], city: ['Zürich'] })
  t.same((await orders.read({ columns: ['id'], limit: 3 })).id, [1, 5, 7])
  t.same((await orders.read({ columns: ['id'] })).id?.length, 950)
  // Long lists travel beside the condition.
  const many = Array.from({ length: 300 }, (_, i) => 200 + i)
  t.equal(await orders.deleteRows({ where: col('id').in(many) }), 300)
  const { rows, deletedRows } = await orders.stats()
  t.same({ rows, deletedRows }, { rows: 650, deletedRows: 351 })
  t.same(await orders.updateRows({ where: col('id').eq(5000), set: { price: 0 } }), { first: 0, rows: 0 })
})

void t.test('what is wrong with a change is said, and nothing changes', async (t) => {
  const server = await start(t)
  const client = await connect(server.url)
  t.teardown(() => client.close())
  const orders = await client.createRelation(ORDERS)
  await orders.append({ id: [1, 2], price: [null, 2] })
  const where = col('id').gt(0)
  const bad = (set: Parameters<typeof orders.updateRows>[0]['set'], message: RegExp) =>
    t.rejects(orders.updateRows({ where, set }), { code: 'BAD_REQUEST', message })
  await bad({ id: col('price') }, /^set.id: the column is u32, and its new value f32; cast it/)
  await bad({ no: 1 }, /no column "no"/)
  await bad({}, /set: /)
  await bad({ id: null }, /no value in row 0/)
  await bad(
    {
      id: col('id')
        .plus(2 ** 32 - 2)
        .as('u32'),
    },
    /overflow/,
  )
  await t.rejects(orders.deleteRows({ where: col('x').eq(1) }), {
    message: /^where.args\[0\]: no column "x"/,
  })
  await t.rejects(orders.deleteRows({ where: col('id') }), { message: /^where: a condition is needed/ })
  await t.rejects(orders.deleteRows({} as never), { message: /^deleteRows needs "where", a condition/ })
  await t.rejects(orders.deleteRows(where as never), { message: /^deleteRows has no field "expression"/ })
  await t.rejects(orders.updateRows({ where } as never), { message: /^updateRows needs "set"/ })
  await t.rejects(client.relation('none').deleteRows({ where }), { code: 'UNKNOWN_RELATION' })
  t.same(await orders.read(), { id: [1, 2], price: [null, 2], city: [null, null] })
})
