import t from 'tap'
import { UNBOUNDED } from '../../../clients/sdk/call-options.js'
import { Client } from '../../../clients/sdk/client.js'
import { col, count, relation, sum, type TableInput } from '../../../clients/sdk/index.js'
import { NodeConnection } from '../../../clients/sdk/node-connection.js'
import { asBytes } from '../../../protocol/columns.js'
import { encodeFrame, type Section } from '../../../protocol/frame.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { QueryFigures } from '../../../src/query/queries.js'
import { start } from '../../src/server/start.js'
import { loosely } from './loose-calls.js'

const mine: TableInput = {
  columns: [
    { name: 'k', type: 'u32', nullable: false },
    { name: 'word', type: 'string', nullable: true },
    { name: 'price', type: 'decimal(9,2)', nullable: true },
  ],
  rows: { k: [3, 1, 3, 9], word: ['b', null, 'a', 'é'], price: ['1.50', '-2.25', null, '4.00'] },
}

t.test('tables that come with a query', async (t) => {
  const server = await start(t)
  const connection = await NodeConnection.open(server.url, {})
  const client = new Client(connection)
  t.teardown(() => client.close())
  const stored = await client.createRelation({
    name: 'stored',
    columns: [
      { name: 'k', type: 'u32', nullable: false },
      { name: 'name', type: 'string', nullable: false },
    ],
  })
  await stored.append({ k: [1, 2, 3], name: ['one', 'two', 'three'] })

  await t.test('are joined with relations, in trees and in SQL', async (t) => {
    const wanted = [
      { word: null, name: 'one', price: '-2.25' },
      { word: 'a', name: 'three', price: null },
      { word: 'b', name: 'three', price: '1.50' },
    ]
    const query = relation('mine')
      .join(relation('stored'), { on: 'k' })
      .select(['word', 'name', 'price'])
      .orderBy('name', 'word')
    t.strictSame(await client.query(query, { tables: { mine } }).rows(), wanted)
    const text = 'select word, name, price from mine join stored using (k) where word <> ? or word is null'
    const statement = `${text} order by name, word`
    t.strictSame(await client.sql(statement, ['x'], { tables: { mine } }).rows(), wanted)
    t.match(await client.explainQuery(query, { tables: { mine } }), { op: 'orderBy', rows: 3 })
    await t.rejects(
      client.query(query).rows(),
      { code: 'UNKNOWN_RELATION' },
      'they are gone with their query',
    )
  })

  await t.test('go before relations of their names, and are no part of what is kept', async (t) => {
    const query = relation('stored').groupBy([], { rows: count(), sum: sum('k') })
    const tables = { stored: mine }
    t.strictSame(await client.query(query, { tables }).rows(), [{ rows: 4, sum: 16n }])
    t.strictSame(await client.query(query).rows(), [{ rows: 3, sum: 6n }])
    await client.query(relation('stored').where(col('word').eq('a')), { tables }).keep('kept')
    t.strictSame(await client.query(relation('kept').select(['k'])).rows(), [{ k: 3 }])
    await client.dropRelation('stored')
    const info = (await client.listRelations()).find(({ name }) => name === 'kept')
    t.equal(info?.kept?.isOlder, false)
  })

  await t.test('may be empty, or read in many batches, and give their memory back', async (t) => {
    const empty = { ...mine, rows: {} }
    t.strictSame(await client.query(relation('mine'), { tables: { mine: empty } }).rows(), [])
    const many = Uint32Array.from({ length: LIMITS.batchItems }, (_, i) => i)
    const tables = { many: { columns: [mine.columns[0]!], rows: { k: many } } }
    const figures = async () => Object((await client.stats()).server).queries as QueryFigures
    let rows = 0
    for await (const batch of client.query(relation('many').product(relation('many', 'm').limit(3)), {
      tables,
    })) {
      rows += batch.length
      const { bytes } = await figures()
      t.ok(bytes === 0 || bytes > many.byteLength, 'they count as memory of the query')
      if (rows > many.length) break
    }
    t.ok(rows > many.length)
    while ((await figures()).running > 0) await new Promise(setImmediate)
    t.equal((await figures()).bytes, 0)
  })

  await t.test('may have the types of results, in several appends', async (t) => {
    const most = [0xffff_ffff_ffff_ffffn, 0x7fff_ffff_ffff_ffffn]
    const append = (values: readonly bigint[]): Section => {
      const bytes = asBytes(BigUint64Array.from(values))
      const fields = { id: 0, op: 'append', relation: 'wide', rows: values.length / 2, columns: ['sum'] }
      return { type: 'bytes', bytes: encodeFrame(fields, { '0.values': { type: 'u64', bytes } }) }
    }
    const tables = [{ name: 'wide', columns: [{ name: 'sum', type: 'i128', nullable: false }] }]
    const sections = { 'rows.0': append([...most, 5n, 0n]), 'rows.1': append([5n, 0n]) }
    const ask = (query: object) => connection.request('query', { query, tables }, sections, UNBOUNDED)
    const found = async (query: object) => {
      const data = (await ask(query)).sections.get('data')!
      return new BigUint64Array(data.bytes.slice(0, 16).buffer)
    }
    const scan = { op: 'scan', relation: 'wide' }
    const by = [{ column: 'sum', descending: true }]
    t.strictSame([...(await found({ op: 'orderBy', input: scan, by }))], most)
    const value = { column: 'sum' }
    const condition = { op: '<', args: [value, { value: 9 }] }
    const aggregates = [{ name: 'total', function: 'sum', value }]
    const where = { op: 'where', input: scan, condition }
    t.strictSame([...(await found({ op: 'groupBy', input: where, keys: [], aggregates }))], [10n, 0n])
    const on = [['a.sum', 'b.sum']]
    const joined = { op: 'join', left: { ...scan, as: 'a' }, right: { ...scan, as: 'b' }, on }
    t.equal((await ask(joined)).fields.batch!.rows, 5)
  })

  await t.test('that cannot be are refused', async (t) => {
    const refused = async (tables: unknown, message: RegExp, code = 'BAD_REQUEST') =>
      t.rejects(async () => client.query(relation('mine'), loosely({ tables })).rows(), { code, message })
    await refused([7], /"tables" of query is \{columns, rows\} by the names of tables, not/)
    await refused({ mine: null }, /table "mine" come as an object with any of columns, rows, not as null/)
    await refused({ mine: { ...mine, row: 1 } }, /table "mine" has no field "row"/)
    await refused({ mine: {} }, /a relation needs "columns"/)
    await refused({ mine: { columns: mine.columns } }, /rows come as values by column/)
    await refused({ mine: { ...mine, rows: { k: [-1] } } }, /row 0 of column "k"/)
    await refused({ mine: { ...mine, rows: { word: ['x'] } } }, /column "k" \(u32\) is missing/)
    await refused({ 'm\n': mine }, /a table of a query needs a "name"/)
    const columns = [{ name: 'b', type: 'boolean', nullable: true }]
    const many = { columns, rows: { b: Array(LIMITS.batchItems + 1).fill(null) } }
    await refused({ mine: many }, /has 1048577 rows; 1048576 are allowed/, 'TOO_LARGE')
    const few = Object.fromEntries(Array.from({ length: LIMITS.queryTables + 1 }, (_, i) => [`t${i}`, mine]))
    await refused(few, /65 tables; 64 are allowed/, 'TOO_LARGE')
    const query = { op: 'scan', relation: 'mine' }
    const frame = {
      type: 'bytes',
      bytes: encodeFrame({ id: 0, op: 'append', relation: 'other', rows: 0 }),
    } as const
    const asked = (tables: unknown) =>
      connection.request('query', { query, tables }, { 'rows.0': frame }, UNBOUNDED)
    await t.rejects(asked([{ name: 'mine', columns }]), {
      message: /rows are for "other", which is no table/,
    })
    await t.rejects(
      asked([
        { name: 'mine', columns },
        { name: 'mine', columns },
      ]),
      { message: /one name/ },
    )
    await t.rejects(asked(7), { message: /"tables" is a list/ })
  })
})
