import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RecordBatchStreamWriter, Table, tableFromArrays, tableFromIPC, tableToIPC } from 'apache-arrow'
import t from 'tap'
import { parseColumnSpec } from '../../../clients/cli/import/column-spec.js'
import { connect } from '../../../clients/sdk/index.js'
import { start } from '../../src/server/start.js'
import { cliOf } from './run-cli.js'

void t.test('relations from files', async (t) => {
  const directory = t.testdir({
    'orders.csv': 'id,price,city\n1,2.5,Aachen\n2,,"Łódź, PL"\n3,-1e3,\n',
    'late.csv': `n\n${Array.from({ length: 10_500 }, (_, i) => i).join('\n')}\nx\n`,
    'events.ndjson': '{"at":1700000000000,"who":"a"}\n\n{"at":9,"who":null,"ok":true}\n',
    'bad.ndjson': '{"at":1}\n{"at":',
    'deep.ndjson': '{"at":1}\n{"at":{}}',
    'short.csv': 'a,b\n1,2\n3\n',
    'none.arrow': 'no Arrow at all',
  })
  const server = await start(t, { directory: join(directory, 'data') })
  const file = (name: string) => join(directory, name)
  const client = await connect(server.url)
  t.teardown(() => client.close())
  const load = async (name: string, relation: string, columns?: string) => {
    const options = { relation, columns: columns === undefined ? undefined : parseColumnSpec(columns) }
    return (await client.importFile(file(name), options)).rows
  }
  const refused = async (message: RegExp, ...args: Parameters<typeof load>) => {
    await t.rejects(load(...args), { message })
  }

  await t.test('CSV', async (t) => {
    t.equal(await load('orders.csv', 'inferred'), 3)
    t.same(
      (await client.relation('inferred').stats()).columns.map(({ type }) => type),
      ['i64', 'f64', 'string'],
    )
    t.equal(await load('orders.csv', 'orders', 'id:u32?,price:f32?'), 3)
    t.same((await client.relation('orders').stats()).columns, [
      { name: 'id', type: 'u32', nullable: true },
      { name: 'price', type: 'f32', nullable: true },
      { name: 'city', type: 'string', nullable: true },
    ])
    t.equal(await load('orders.csv', 'orders'), 3)
    const rows = { id: [1, 2, 3], price: [2.5, null, -1000], city: ['Aachen', 'Łódź, PL', null] }
    t.same(await client.relation('orders').read({ from: 3 }), rows)
    await refused(/there is a relation "orders" already, whose column "id"/, 'orders.csv', 'orders', 'id:u64')
    const strict = /^row 2 has no value in column "price".*price:f32\?/
    await refused(strict, 'orders.csv', 'strict', 'id:u32,price:f32,city:string')
    await refused(/has no column "n"; its columns are id, price, city/, 'late.csv', 'orders')
    await refused(/line 10502: .*"x" to 'UINTEGER/, 'late.csv', 'late', 'n:u32')
    t.equal(await load('late.csv', 'late'), 10_501, 'as strings')
    await refused(
      /short.csv: line 3: Expected Number of Columns: 2 Found: 1, in "3"; no row/,
      'short.csv',
      'short',
    )
    await refused(/say the format/, 'orders', 'orders')
    await refused(/No files found that match/, 'missing.csv', 'orders')
    t.throws(() => parseColumnSpec('id'), { message: /NAME:TYPE/ })
    t.throws(() => parseColumnSpec('id:f16'), { message: /u32, i32, u64/ })
  })

  await t.test('NDJSON', async (t) => {
    t.equal(await load('events.ndjson', 'events'), 2)
    const rows = { at: [1700000000000n, 9n], who: ['a', null], ok: [null, true] }
    t.same(await client.relation('events').read(), rows)
    await refused(/bad.ndjson: Malformed JSON at byte 7 in line \d: unexpected end/, 'bad.ndjson', 'events')
    await refused(/line 2: Failed to cast value/, 'deep.ndjson', 'events')
    await refused(/"at" is JSON, of which string loses its structure/, 'deep.ndjson', 'deep')
  })

  await t.test('Arrow, in and out', async (t) => {
    const table = tableFromArrays({
      id: Uint32Array.of(1, 2, 3),
      total: BigInt64Array.of(-5n, 6n, 7n),
      city: ['Aachen', null, 'Zürich'],
    })
    writeFileSync(file('t.arrow'), tableToIPC(table, 'file'))
    t.equal(await load('t.arrow', 'arrow'), 3)
    writeFileSync(file('t.arrows'), RecordBatchStreamWriter.writeAll(table).toUint8Array(true))
    t.equal(await load('t.arrows', 'arrow'), 3)
    const arrow = client.relation('arrow')
    t.same(await arrow.appendArrow(table), { first: 6, rows: 3 })
    const rows = { id: [1, 2, 3], total: [-5n, 6n, 7n], city: ['Aachen', null, 'Zürich'] }
    for (const from of [0, 3, 6]) t.same(await arrow.read({ from, limit: 3 }), rows)
    let batches = 0
    for await (const batch of arrow.arrowBatches({ from: 6 })) {
      batches++
      // As another program reads it.
      const read = tableFromIPC(tableToIPC(new Table([batch]), 'stream'))
      t.same(
        read.toArray().map((row) => row.toJSON()),
        rows.id.map((id, i) => ({ id, total: rows.total[i], city: rows.city[i] })),
      )
    }
    t.equal(batches, 1)
    await refused(/is not an Arrow file or stream/, 'none.arrow', 'none')
    await t.rejects(arrow.appendArrow(tableFromArrays({ size: Int32Array.of(1) })), {
      message: /no column "size"/,
    })
    const texts = tableFromArrays({ id: ['a'] })
    await t.rejects(arrow.appendArrow(texts), { message: /"id" \(u32\) cannot take values of Arrow's type/ })
  })

  await t.test('by the command', async (t) => {
    const cli = cliOf({ WARPDEX_URL: server.url })
    const create = ['create', 'by id', '--relation', 'orders', '--columns', 'id']
    t.match(await cli(create), { code: 0, out: 'created\n' })
    t.match(await cli([...create, '--if-not-exists']), { code: 0, out: 'there already\n' })
    t.match(await cli([...create, '--unique']), { code: 2, err: /warpdex: an index has --key and/ })
    t.match(await cli(['create', 'x', '--key', 'u32']), {
      code: 2,
      err: /warpdex: an index has --key and/,
    })
    t.match(await cli(create.slice(0, 4)), { code: 2, err: /warpdex: .*columns.*--help/ })
    const input = 'id,city\n2,Bonn\n'
    const load = ['import', '-', '--relation', 'orders', '--format', 'csv']
    for (const [flag, value] of [['--if-exists', 'replace'], ['--hex']]) {
      const given = [flag!, ...(value === undefined ? [] : [value])]
      const err = new RegExp(`warpdex: .*relation and ${flag!.slice(2)} are mutually exclusive`)
      t.match(await cli([...load, ...given], input), { code: 2, err })
    }
    const ofRelation = ['import', 'by id', '-', '--columns', 'id:u32']
    t.match(await cli(ofRelation, input), { code: 2, err: /--columns needs --relation/ })
    const semicolons = input.replaceAll(',', ';')
    t.match(await cli(load, semicolons), {
      code: 2,
      err: /the file has one column, "id;city"; name its separator, such as ";"; no row is stored/,
    })
    t.match(await cli([...load, '--separator', ';'], semicolons), { code: 0, out: /^1 rows, /, err: '' })
    t.match(await cli(['relations']), {
      code: 0,
      out: /orders +id:u32\?,price:f32\?,city:string\? +7 .*by id \(id\)/,
    })
    t.match(await cli(['get', 'by id', '2', '--json', '--all']), { code: 0, out: /"payloads":\[1,4,6\]/ })
    t.match(await cli(['drop', 'orders', '--relation']), { code: 0, out: 'dropped\n' })
    t.match(await cli(['get', 'by id', '2']), { code: 2, err: /UNKNOWN_INDEX/ })
  })

  await t.test('rows by a condition', async (t) => {
    const cli = cliOf({ WARPDEX_URL: server.url })
    const changed = await client.createRelation({
      name: 'changed',
      columns: [{ name: 'id', type: 'u32', nullable: false }],
    })
    await changed.append({ id: [1, 2, 3] })
    const where = (id: number) => ['--where', `{"op":"=","args":[{"column":"id"},{"value":${id}}]}`]
    t.match(await cli(['delete-rows', 'changed', ...where(2)]), { code: 0, out: '1 rows deleted\n' })
    t.match(await cli(['update-rows', 'changed', ...where(1), '--set', '{"id":{"value":9}}']), {
      code: 0,
      out: '1 rows updated\n',
    })
    t.same(await changed.read(), { id: [3, 9] })
    t.match(await cli(['delete-rows', 'changed']), { code: 2, err: /where/ })
    t.match(await cli(['delete-rows', 'changed', '--where', '{']), { code: 2, err: /--where is not JSON/ })
    t.match(await cli(['delete-rows', 'changed', '--where', '7']), { code: 2, err: /must be a map/ })
  })
})
