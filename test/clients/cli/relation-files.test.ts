import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Float64, Table, tableFromArrays, tableToIPC, vectorFromArray } from 'apache-arrow'
import t from 'tap'
import { parseColumnSpec } from '../../../clients/cli/import/column-spec.js'
import { importRelation } from '../../../clients/cli/import/relation-import.js'
import { connect } from '../../../clients/sdk/index.js'
import { start } from '../../src/server/start.js'

void t.test('what files have comes into relations as it is, or not at all', async (t) => {
  const directory = t.testdir()
  const server = await start(t, { directory: join(directory, 'data') })
  const client = await connect(server.url)
  t.teardown(() => client.close())
  const load = (
    name: string,
    content: string | Uint8Array,
    { relation = name, columns = '', skipped = undefined as string[] | undefined } = {},
  ) => {
    const file = join(directory, name)
    writeFileSync(file, content)
    return importRelation(client, {
      file,
      relation,
      format: undefined,
      columns: columns === '' ? undefined : parseColumnSpec(columns),
      onBadLine: skipped === undefined ? undefined : ({ message }) => void skipped.push(message),
      onProgress: () => {},
      signal: new AbortController().signal,
    })
  }
  const refused = async (message: RegExp, ...args: Parameters<typeof load>) =>
    t.rejects(load(...args), { code: 'BAD_REQUEST', message })
  const names = async () => (await client.listRelations()).map(({ name }) => name)
  const read = (relation: string) => client.relation(relation).read()

  await t.test('integers of 64 bits', async (t) => {
    await load('wide.ndjson', '{"v":9007199254740993}\n{"v":18446744073709551615}\n')
    t.same(await read('wide.ndjson'), { v: [9007199254740993n, 2n ** 64n - 1n] })
    await load('wide.csv', 'v\n-9007199254740993\n')
    t.same(await read('wide.csv'), { v: [-9007199254740993n] })
    await refused(/"18446744073709551616" is out of range/, 'over.ndjson', '{"v":18446744073709551616}', {
      columns: 'v:u64',
    })
  })

  await t.test('floats', async (t) => {
    const text = 'x\nNaN\n-Infinity\ninf\n-0\n0.1\n'
    await load('floats.csv', text, { columns: 'x:f32' })
    const x = [Number.NaN, -Infinity, Infinity, -0, Math.fround(0.1)]
    t.same(await read('floats.csv'), { x })
    await load('floats.ndjson', '{"x":"NaN"}\n{"x":-0}\n', { relation: 'floats.csv' })
    t.same((await read('floats.csv')).x?.slice(5), [Number.NaN, -0])
    await refused(/"1e300" is out of range/, 'far.csv', 'x\n1e300\n', { columns: 'x:f32' })
    await refused(/"1e400" is out of range/, 'far.ndjson', '{"x":1e400}\n', { columns: 'x:f32' })
    const far = tableToIPC(new Table({ x: vectorFromArray([Number.NaN, 1e300], new Float64()) }), 'file')
    await refused(/row 1 of column "x" has 1e\+300, which is no f32/, 'far.arrow', far)
    await t.rejects(client.relation('floats.csv').append({ x: [-1e39] }), { message: /-1e\+39, .* no f32/ })
    t.equal((await client.relation('floats.csv').append({ x: [3.4028235e38, Infinity] })).rows, 2)
  })

  await t.test('truth values', async (t) => {
    for (const [name, content] of [
      ['truth.csv', 'b,s\ntrue,true\nFALSE,false\n'],
      ['truth.ndjson', '{"b":true,"s":true}\n{"b":false,"s":false}\n'],
    ] as const) {
      await load(name, content, { columns: 'b:i32,s:string' })
      t.same(await read(name), { b: [1, 0], s: ['true', 'false'] })
    }
  })

  await t.test('columns that were inferred do not change later records', async (t) => {
    const rows = (last: string) => `v\n${'1.5\n'.repeat(10_000)}${last}\n`
    await refused(
      /^line 10002: 123456789 in column "v" is no f32 with these digits/,
      'late.csv',
      rows('123456789'),
    )
    await load('late.csv', rows('0.25'))
    await load('more.csv', 'v\n123456789\n', { relation: 'late.csv' })
    t.same(await client.relation('late.csv').read({ from: 10_000 }), { v: [0.25, 123456792] })
  })

  await t.test('an import that stores nothing leaves nothing', async (t) => {
    const csv = 'id\n1\n2.5\n'
    await refused(/^line 3: "2.5" is no whole number.*; no row is stored$/, 'again.csv', csv, {
      columns: 'id:u32',
    })
    t.notOk((await names()).includes('again.csv'))
    await load('again.csv', csv, { columns: 'id:f32' })
    await t.rejects(load('again.csv', csv, { columns: 'id:u32' }), { code: 'RELATION_EXISTS' })
    await refused(/^line 2/, 'again.csv', 'id\nx\n')
    t.same(await read('again.csv'), { id: [1, 2.5] }, 'one that was there stays')
    const first = Array.from({ length: 70_000 }, (_, i) => i)
    await refused(
      /^line 70002: .*; the first 65536 rows are stored$/,
      'part.csv',
      `n\n${first.join('\n')}\nx\n`,
    )
    t.equal((await client.relation('part.csv').stats()).rows, 65536)
  })

  await t.test('lines that cannot be read', async (t) => {
    const skipped: string[] = []
    const lines = ['{"v":1}', '{', '[]', '{"v":"x"}', '{"w":1}', '{"v":2}']
    t.equal(await load('bad.ndjson', lines.join('\n'), { columns: 'v:u32', skipped }), 2)
    t.match(
      skipped,
      [/^line 2: it is no JSON/, /^line 3: it is no JSON object/, /^line 5: .*"w"/, /^line 4: "x"/].sort(),
    )
    t.same(await read('bad.ndjson'), { v: [1, 2] })
    t.equal(await load('bad.csv', 'v\n1\n2,3\nx\n', { columns: 'v:u32', skipped: [] }), 1)
    t.equal(await load('all.csv', 'v\nx\n', { columns: 'v:u32', skipped: [] }), 0)
    await refused(
      /^line 2: column "v" has a string with half of a surrogate/,
      'half.ndjson',
      '{"v":"a"}\n{"v":"\\ud800"}',
    )
    await refused(/no UTF-8 text; no row is stored/, 'latin.csv', Buffer.from('v\ncaf\xe9\n', 'latin1'))
    await refused(/line 2: a quote that opens in the record/, 'open.csv', 'a,b\n1,"x\n3,4\n5,6\n')
    await refused(/line 5: a quote that opens in the record/, 'open.tsv', 'a\tb\n"m\nn"\t1\n\n2\t"x\n3\t4\n')
    await refused(/line 3: a quote stands inside a field/, 'bare.tsv', 'a\tb\n1\t2\n3\tx"y\n')
  })

  await t.test('Arrow', async (t) => {
    const table = tableFromArrays({ id: Uint32Array.of(1, 2), n: Int32Array.of(3, 4) })
    const bytes = tableToIPC(table, 'file')
    await refused(/no column "n"/, 'few.arrow', bytes, { columns: 'id:u32' })
    t.notOk((await names()).includes('few.arrow'))
    await load('few.arrow', bytes, { columns: 'n:i64,id:u32?' })
    t.same(await read('few.arrow'), { n: [3n, 4n], id: [1, 2] })
    await refused(/Arrow has no lines/, 'few.arrow', bytes, { skipped: [] })
    for (let length = 0; length < bytes.length; length += 31) {
      const name = `cut-${length}.arrow`
      await refused(/^\S+ is no Arrow file or stream: (?!Cannot read)/, name, bytes.slice(0, length))
    }
  })
})
