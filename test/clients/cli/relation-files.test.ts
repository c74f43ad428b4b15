import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { tableFromArrays, tableToIPC } from 'apache-arrow'
import t from 'tap'
import { parseColumnSpec } from '../../../clients/cli/import/column-spec.js'
import { connect } from '../../../clients/sdk/index.js'
import { Random, seedOfRun } from '../../random.js'
import { start } from '../../src/server/start.js'

void t.test('what files have comes into relations as it is, or not at all', async (t) => {
  const directory = t.testdir()
  const server = await start(t, { directory: join(directory, 'data') })
  const client = await connect(server.url)
  t.teardown(() => client.close())
  const duck = await (await DuckDBInstance.create(':memory:')).connect()
  t.teardown(() => duck.closeSync())
  const load = async (
    name: string,
    content: string | Uint8Array | undefined,
    { relation = name, columns = '', skipped = undefined as string[] | undefined } = {},
  ) => {
    const file = join(directory, name)
    if (content !== undefined) writeFileSync(file, content)
    const { rows } = await client.importFile(file, {
      relation,
      columns: columns === '' ? undefined : parseColumnSpec(columns),
      onBadLine: skipped && (({ message }) => void skipped.push(message)),
    })
    return rows
  }
  const refused = async (message: RegExp, ...args: Parameters<typeof load>) =>
    t.rejects(load(...args), { code: 'BAD_REQUEST', message })
  const names = async () => (await client.listRelations()).map(({ name }) => name)
  const read = (relation: string) => client.relation(relation).read()

  await t.test('random rows, as DuckDB has them, from every format that it writes', async (t) => {
    const seed = seedOfRun()
    t.comment(`TEST_SEED=${seed}`)
    const random = new Random(seed)
    const cell = (value: unknown) => (random.chance(0.1) ? 'null' : String(value))
    const texts = ['', 'a', 'twelve bytes', 'thirteen byte', 'Łódź', '𝄞 and more than twelve', '\uffee']
    const text = () =>
      random.chance(0.5) ? random.pick(texts) : `${random.pick(texts)}${random.below(5000)}`
    const rows = Array.from({ length: 9000 }, () => {
      const big = (BigInt(random.below(2 ** 31)) - 2n ** 30n) * BigInt(random.below(2 ** 31))
      const cells = [random.below(2 ** 31), -random.below(99), big, random.below(2 ** 20) / 8 + 0.125]
      return `(${[...cells.map(cell), cell(`'${text()}'`), cell(random.chance(0.5))].join(',')})`
    })
    await duck.run(
      'create table r (u uinteger, i integer, l bigint, f float, s varchar, b boolean); insert into r values ' +
        rows.join(','),
    )
    const wanted = (await duck.runAndReadAll('select u, i, l, f, s, b::integer b from r')).getColumnsObject()
    for (const [format, options] of [
      ['parquet', ''],
      ['csv', ''],
      ['tsv', ", delimiter '\t'"],
      ['ndjson', ''],
    ] as const) {
      const name = `random.${format}`
      const kind = format === 'tsv' ? 'csv' : format === 'ndjson' ? 'json' : format
      await duck.run(`copy r to '${join(directory, name)}' (format ${kind}${options})`)
      t.equal(await load(name, undefined, { columns: 'u:u32?,i:i32?,l:i64?,f:f32?,s:string?,b:u32?' }), 9000)
      const found = await read(name)
      for (const column of ['u', 'i', 'l', 'f', 's', 'b']) {
        // In CSV an empty text is what a missing one is.
        const isEmpty = (value: unknown) => value === '' && (format === 'csv' || format === 'tsv')
        const expected = wanted[column]!.map((value) => (isEmpty(value) ? null : value))
        const same = found[column]!.every((value, row) => Object.is(value, expected[row]))
        t.ok(same && found[column]!.length === expected.length, `${format}: ${column}`)
      }
    }
  })

  await t.test('types as DuckDB finds them', async (t) => {
    const sql = `select 1::tinyint a, 2::usmallint b, 3::bigint c, 4::ubigint d, 1.5::float e, true f,
      date '2020-02-03' g, timestamp '2020-02-03 04:05:06.5' h, time '01:02:03' i, 'x' j`
    await duck.run(`copy (${sql}) to '${join(directory, 'types.parquet')}' (format parquet)`)
    await load('types.parquet', undefined)
    t.same(await read('types.parquet'), {
      ...{ a: [1], b: [2], c: [3n], d: [4n], e: [1.5], f: [true] },
      ...{ g: ['2020-02-03'], h: ['2020-02-03T04:05:06.5Z'], i: ['01:02:03'], j: ['x'] },
    })
    await load('digits.csv', 'zip,late\n00501,1\n10001,2.5\n', { columns: 'late:f32' })
    t.same(await read('digits.csv'), { late: [1, 2.5], zip: ['00501', '10001'] })
  })

  await t.test('what would lose digits is said before, and is a choice', async (t) => {
    const sql = `select 2::hugeint ** 1 h, 19.045::decimal(20, 3) d, timestamptz '2020-01-01 00:00:00+02' z, [1, 2] l`
    await duck.run(
      `copy (select * replace (h::hugeint as h) from (${sql})) to '${join(directory, 'loss.parquet')}'`,
    )
    const losses =
      /"d" is DECIMAL\(20,3\).*"z" is TIMESTAMP WITH TIME ZONE.*time zones.*"l" is INTEGER\[\].*d:f64\?/
    await refused(losses, 'loss.parquet', undefined)
    t.notOk((await names()).includes('loss.parquet'))
    await load('loss.parquet', undefined, { columns: 'h:i64?,d:string,z:string,l:string' })
    const { d, l } = await read('loss.parquet')
    t.same({ d, l }, { d: ['19.045'], l: ['[1, 2]'] })
    const whole = /2\.5.* in column id is not a whole number; no row is stored$/
    await refused(whole, 'whole.csv', 'id\n1\n2.5\n', { columns: 'id:u32' })
    await refused(/line 2: .*"x" to 'UINTEGER'/, 'text.csv', 'id\nx\n', { columns: 'id:u32' })
    await refused(/line 3: .*"-1" to 'UINTEGER'/, 'sign.csv', 'id\n1\n-1\n', { columns: 'id:u32' })
    // A fraction behind all the rows that other readers would look at.
    await load('late.csv', `v\n${'1\n'.repeat(70_000)}2.5\n`)
    t.equal((await read('late.csv')).v?.at(-1), 2.5)
    await load('wide.csv', 'v\n18446744073709551615\n', { columns: 'v:u64' })
    t.same(await read('wide.csv'), { v: [2n ** 64n - 1n] })
    await load('floats.csv', 'x\nNaN\n-Infinity\ninf\n-0\n0.1\n', { columns: 'x:f32' })
    t.same(await read('floats.csv'), { x: [Number.NaN, -Infinity, Infinity, -0, Math.fround(0.1)] })
    await refused(/value 1e\+300 .* out of range/, 'far.csv', 'x\n1e300\n', { columns: 'x:f32' })
  })

  await t.test('numbers of CSV as they are written', async (t) => {
    const columns = 'n:i64?,m:decimal(9,2)?'
    await load('written.csv', 'n,m\n1.5e1,1e2\n-7.0,-0.01\n,\n9007199254740993,7.000\n', { columns })
    const n = [15n, -7n, null, 2n ** 53n + 1n]
    t.same(await read('written.csv'), { n, m: ['100.00', '-0.01', null, '7.00'] })
    await refused(/1\.239.* in column m is not of type decimal\(9,2\)/, 'cents.csv', 'm\n1.239\n', {
      columns: 'm:decimal(9,2)',
    })
    await refused(/15e-1|1\.5.* in column n is not a whole number/, 'part.csv', 'n\n15e-1\n', {
      columns: 'n:i32',
    })
    await refused(/12345678.*DECIMAL\(9,2\)/, 'much.csv', 'm\n12345678\n', { columns: 'm:decimal(9,2)' })
    const half = `copy (select '2.5' as n) to '${join(directory, 'half.parquet')}'`
    await duck.run(half)
    await refused(/not a whole number/, 'half.parquet', undefined, { columns: 'n:i32' })
  })

  await t.test('texts that differ in zeros at their ends', async (t) => {
    const texts = `select repeat('a', i // 40) || repeat(chr(0), i % 40) as s from range(400) r(i)`
    await duck.run(`copy (${texts}) to '${join(directory, 'zeros.parquet')}'`)
    await load('zeros.parquet', undefined)
    const wanted = (await duck.runAndReadAll(texts)).getColumnsObject()
    t.same(await read('zeros.parquet'), wanted)
  })

  await t.test(
    'an import that stores nothing leaves nothing; one that fails says what it stored',
    async (t) => {
      await refused(/no row is stored$/, 'again.csv', 'id,s\n1,\n2,"x\n')
      t.notOk((await names()).includes('again.csv'))
      const rows = Array.from({ length: 700_000 }, (_, i) => i).join('\n')
      await refused(/; the first \d+ rows are stored$/, 'part.csv', `n\n${rows}\n\n`, { columns: 'n:u32' })
      const { n } = await read('part.csv')
      t.ok(n!.length > 0 && n!.every((value, row) => value === row))
    },
  )

  await t.test('what is aborted says what it stored', async (t) => {
    const file = join(directory, 'many.csv')
    writeFileSync(file, `n\n${Array.from({ length: 1_200_000 }, (_, i) => i).join('\n')}\n`)
    const stop = new AbortController()
    const load = client.importFile(file, {
      relation: 'many',
      signal: stop.signal,
      onProgress: ({ bytes, size }) => {
        t.ok(bytes > 0 && bytes <= size)
        stop.abort()
      },
    })
    await t.rejects(load, { code: 'CANCELLED', message: /; the first \d+ rows are stored$/ })
    t.ok((await client.relation('many').stats()).rows < 1_200_000)
  })

  await t.test('lines that cannot be read', async (t) => {
    const skipped: string[] = []
    t.equal(await load('bad.csv', 'v\n1\n2,3\nx\n4\n', { columns: 'v:u32', skipped }), 2)
    t.match(skipped, [/^line 3: Expected Number of Columns/, /^line 4: .*"x"/])
    t.same(await read('bad.csv'), { v: [1, 4] })
    await refused(/bad lines of ndjson are not skipped/, 'bad.ndjson', '{"v":1}\n', { skipped })
    await refused(/line 2: .*unicode.*; no row is stored/, 'latin.csv', Buffer.from('v\ncaf\xe9\n', 'latin1'))
    await refused(/line 3: Value with unterminated quote/, 'open.csv', 'a,b\n1,2\n3,"x\n')
    await refused(/empty.csv is empty; no row/, 'empty.csv', '')
    const odd = { relation: 'odd', format: 'xml' as 'csv' }
    await t.rejects(client.importFile(join(directory, 'bad.csv'), odd), { message: /no format "xml"/ })
    await refused(/too small to be a Parquet file/, 'no.parquet', 'nothing')
  })

  await t.test('Arrow', async (t) => {
    const table = tableFromArrays({ id: Uint32Array.of(1, 2), n: Int32Array.of(3, 4) })
    const bytes = tableToIPC(table, 'file')
    await load('few.arrow', bytes, { columns: 'n:i64' })
    t.same(await read('few.arrow'), { n: [3n, 4n], id: [1, 2] })
    await refused(/Arrow has no lines/, 'few.arrow', bytes, { skipped: [] })
    for (let length = 0; length < bytes.length; length += 31) {
      const name = `cut-${length}.arrow`
      await refused(/^\S+ is not an Arrow file or stream: (?!Cannot read)/, name, bytes.slice(0, length))
    }
  })
})
