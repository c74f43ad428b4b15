import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { tableFromIPC } from 'apache-arrow'
import t from 'tap'
import { terminalTable } from '../../../clients/cli/rows/terminal-table.js'
import { col, connect, relation } from '../../../clients/sdk/index.js'
import { Random, seedOfRun } from '../../random.js'
import { start } from '../../src/server/start.js'
import { cliOf } from './run-cli.js'

/** An Arrow decimal as the integer that it lies as. */
function wordsOf(words: Uint32Array): bigint {
  return BigInt.asIntN(
    128,
    [...words].reduceRight((value, word) => (value << 32n) | BigInt(word), 0n),
  )
}

const COLUMNS = ['u', 'i', 'l', 'v', 'f', 's', 'b'] as const

void t.test('results of queries as files', async (t) => {
  const directory = t.testdir()
  const server = await start(t, { directory: join(directory, 'data') })
  const client = await connect(server.url)
  t.teardown(() => client.close())
  const cli = cliOf({ WARPDEX_URL: server.url })
  const duck = await (await DuckDBInstance.create(':memory:')).connect()
  t.teardown(() => duck.closeSync())

  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const texts = ['a', 'Łódź', 'with "quotes", commas', 'two\nlines', '', 'more than twelve bytes 𝄞', ' x ']
  const rows = 5000
  const list = <T>(value: () => T) =>
    Array.from({ length: rows }, () => (random.chance(0.1) ? null : value()))
  const values = {
    u: list(() => random.below(2 ** 32)),
    i: list(() => random.below(2 ** 31) - 2 ** 30),
    l: list(() => -BigInt(random.below(2 ** 31)) * 2n ** 30n),
    v: list(() => BigInt(random.below(2 ** 31)) * 2n ** 32n),
    f: list(() => Math.fround(random.below(2 ** 30) / 1000)),
    s: list(() => random.pick(texts)),
  }
  const columns = Object.entries({ u: 'u32', i: 'i32', l: 'i64', v: 'u64', f: 'f32', s: 'string' } as const)
  await client.createRelation({
    name: 'r',
    columns: columns.map(([name, type]) => ({ name, type, nullable: true })),
  })
  await client.relation('r').append(values)
  const names = columns.map(([name]) => ({ name, value: { column: name } }))
  const truth = { name: 'b', value: { op: '<', args: [{ column: 'u' }, { value: 2 ** 31 }] } }
  const query = join(directory, 'query.json')
  const tree = { op: 'project', input: { op: 'scan', relation: 'r' }, columns: [...names, truth] }
  writeFileSync(query, JSON.stringify(tree))
  const expected = { ...values, b: values.u.map((value) => value && value < 2 ** 31) }
  for (const [row, value] of values.u.entries()) expected.b[row] = value === null ? null : value < 2 ** 31

  const same = (t: Tap, found: Readonly<Record<string, ArrayLike<unknown>>>, what: string) => {
    for (const name of COLUMNS) {
      const wanted: readonly unknown[] = expected[name]
      t.equal(found[name]!.length, rows, `${what}: rows of ${name}`)
      t.ok(
        wanted.every((value, row) => Object.is(found[name]![row], value)),
        `${what}: ${name}`,
      )
    }
  }
  type Tap = typeof t
  const types = `{'u': 'UINTEGER', 'i': 'INTEGER', 'l': 'BIGINT', 'v': 'UBIGINT', 'f': 'FLOAT', 's': 'VARCHAR', 'b': 'BOOLEAN'}`
  const readers = {
    csv: (file: string) =>
      `read_csv('${file}', header = true, columns = ${types}, allow_quoted_nulls = false)`,
    json: (file: string) => `read_json('${file}', format = 'array', columns = ${types})`,
    ndjson: (file: string) => `read_json('${file}', format = 'newline_delimited', columns = ${types})`,
    parquet: (file: string) => `read_parquet('${file}')`,
  }
  for (const [format, reader] of Object.entries(readers)) {
    await t.test(`${format}, as DuckDB reads it`, async (t) => {
      const file = join(directory, `rows.${format}`)
      t.match(await cli(['query', query, '--output', file]), { code: 0, out: '', err: '' })
      const sql = `select * from ${reader(file)}`
      same(t, (await duck.runAndReadAll(sql)).getColumnsObject(), format)
      const found = await duck.runAndReadAll(`describe ${sql}`)
      const kinds = found.getRows().map(([, type]) => type)
      t.same(kinds, ['UINTEGER', 'INTEGER', 'BIGINT', 'UBIGINT', 'FLOAT', 'VARCHAR', 'BOOLEAN'])
    })
  }

  await t.test('Arrow, as another program reads it', async (t) => {
    const file = join(directory, 'rows.arrow')
    t.match(await cli(['query', query, '--format', 'arrow', '--output', file]), { code: 0, err: '' })
    const table = tableFromIPC(readFileSync(file))
    const found = COLUMNS.map((name) => [name, Array.from(table.getChild(name)!)] as const)
    same(t, Object.fromEntries(found), 'arrow')
  })

  await t.test('sums, of 128 bits', async (t) => {
    const sum = (name: string, value: object) => ({ name, function: 'sum', value })
    const product = {
      op: '*',
      args: [{ op: 'cast', args: [{ column: 'l' }], type: 'i128' }, { value: 10 ** 12 }],
    }
    const price = { op: 'cast', args: [{ column: 'u' }], type: 'decimal(12,2)' }
    const keys = [{ name: 'i', value: { op: '%', args: [{ column: 'u' }, { value: 70 }] } }]
    const aggregates = [sum('total', product), sum('paid', price)]
    const input = {
      op: 'where',
      input: { op: 'scan', relation: 'r' },
      condition: { op: '<', args: [{ column: 'u' }, { value: 2 ** 31 }] },
    }
    const groups = { op: 'groupBy', input, keys, aggregates }
    const sums = JSON.stringify({ op: 'orderBy', input: groups, by: [{ column: 'total', descending: true }] })
    const all = new Map<bigint, [total: bigint, paid: bigint]>()
    for (const [row, u] of values.u.entries()) {
      if (u === null || u >= 2 ** 31) continue
      const [total, paid] = all.get(BigInt(u % 70)) ?? [0n, 0n]
      all.set(BigInt(u % 70), [total + (values.l[row] ?? 0n) * 10n ** 12n, paid + BigInt(u)])
    }
    const wanted = Array.from(all, ([key, [total, paid]]) => [key, total, paid] as const)
      .sort(([, a], [, b]) => (a < b ? 1 : -1))
      .map(([key, total, paid]) => `${key},${total},${paid}.00`)
    t.equal(
      (await cli(['query', '-', '--format', 'csv'], sums)).out,
      `${['i,total,paid', ...wanted].join('\n')}\n`,
    )
    const [parquet, arrow] = ['sums.parquet', 'sums.arrow'].map((name) => join(directory, name))
    for (const file of [parquet!, arrow!])
      t.match(await cli(['query', '-', '--output', file], sums), { code: 0, err: '' }, file)
    const read = await duck.runAndReadAll(`from '${parquet}'`)
    t.same(read.columnTypes().map(String), ['BIGINT', 'DECIMAL(38,0)', 'DECIMAL(38,2)'])
    t.same(
      read.getRows().map((row) => row.join()),
      wanted,
    )
    const table = tableFromIPC(readFileSync(arrow!))
    const found = ['total', 'paid'].map((name) =>
      Array.from(table.getChild(name)!, (value) => wordsOf(value)),
    )
    const numbers = wanted.map((row) => row.replace('.', '').split(',').slice(1).map(BigInt))
    t.same(found, [numbers.map(([total]) => total), numbers.map(([, paid]) => paid)])
  })

  await t.test('no rows', async (t) => {
    const none = JSON.stringify({ op: 'limit', rows: 0, input: { op: 'scan', relation: 'r' } })
    const of = async (format: string) => (await cli(['query', '-', '--format', format], none)).out
    t.equal(await of('csv'), 'u,i,l,v,f,s\n')
    t.equal(await of('json'), '[]\n')
    t.equal(await of('ndjson'), '')
    const file = join(directory, 'none.parquet')
    t.match(await cli(['query', '-', '--output', file], none), { code: 0, err: '' })
    t.same((await duck.runAndReadAll(`from '${file}'`)).columnNames(), ['u', 'i', 'l', 'v', 'f', 's'])
  })

  await t.test('tables', async (t) => {
    await client.createRelation({
      name: 'few',
      columns: [
        { name: 'id', type: 'i64', nullable: true },
        { name: 'price', type: 'f32', nullable: false },
        { name: 'name', type: 'string', nullable: true },
      ],
    })
    await client
      .relation('few')
      .append({ id: [1n, null, -300n], price: [0.1, 2, 30], name: ['Łódź', 'a\nb', 'x'.repeat(30)] })
    const scan = JSON.stringify({ op: 'scan', relation: 'few' })
    const table = [
      '  id  price  name',
      `────  ─────  ${'─'.repeat(30)}`,
      '   1    0.1  Łódź',
      'null      2  a\\nb',
      `-300     30  ${'x'.repeat(30)}`,
    ]
    t.match(await cli(['query', '-', '--format', 'table'], scan), { code: 0, out: `${table.join('\n')}\n` })
    const fitted = async (width: number) => {
      let text = ''
      for await (const piece of terminalTable(client.query(relation('few')), width)) text += piece
      return text.split('\n')
    }
    const narrow = await fitted(20)
    t.equal(narrow.at(4), '-300     30  xxxxxx…')
    t.ok(narrow.every((line) => [...line].length <= 20))
    t.match(await fitted(9), [
      /^ {2}id$/,
      /^────$/,
      /^ {3}1$/,
      /^null$/,
      /^-300$/,
      /not shown.*: price, name/,
      /^$/,
    ])
    const empty = terminalTable(client.query(relation('few').where(col('price').gt(99))), 80)
    t.equal((await empty.next()).value, 'id  price  name\n──  ─────  ────\n')
  })

  await t.test('what cannot be written is said', async (t) => {
    const to = (output: string) => cli(['query', query, '--output', join(directory, output)])
    t.match(await to('rows.xyz'), {
      code: 2,
      err: /rows.xyz does not tell what it is to be; say --format table/,
    })
    t.match(await to('no/rows.csv'), {
      code: 2,
      err: /rows.csv cannot be written: no such file or directory/,
    })
  })
})
