import { chmodSync, copyFileSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { Random, seedOfRun } from '../../random.js'
import { start } from '../../src/server/start.js'
import { cliOf } from './run-cli.js'

void t.test('lookup adds to a file what an index has', async (t) => {
  const directory = t.testdir({
    'people.csv': 'zip,name,city\n00501,"a, b",1\n10001,,2\n,c,\n7," d ",9\n',
    'codes.ndjson': '{"code":"de","n":1}\n{"code":"xx","n":2}\n{"n":3}\n',
    'bad.csv': 'id\n1\nx\n',
  })
  const server = await start(t, { directory: join(directory, 'data') })
  const client = await connect(server.url)
  t.teardown(() => client.close())
  const cli = cliOf({ WARPDEX_URL: server.url })
  const file = (name: string) => join(directory, name)
  const cities = await client.createIndex({
    name: 'cities',
    keyType: 'u32',
    payloadKind: 'text',
    unique: true,
  })
  await cities.insertMany([1, 2, 3], ['Łódź', 'two\nlines, "quoted"', 'none'])
  const names = await client.createIndex({
    name: 'names',
    keyType: 'string',
    payloadKind: 'u64',
    unique: false,
  })
  await names.insertMany(['de', 'de', 'fr'], [49n, 50n, 33n])

  await t.test('CSV stays as it is', async (t) => {
    const args = ['lookup', file('people.csv'), '--index', 'cities', '--key', 'city']
    const out =
      'zip,name,city,payload\n00501,"a, b",1,Łódź\n10001,,2,"two\nlines, ""quoted"""\n,c,,\n7, d ,9,\n'
    t.match(await cli(args), { code: 0, out, err: '' })
    const input = readFileSync(file('people.csv'))
    const piped = ['lookup', '-', '--file-format', 'csv', ...args.slice(2), '--as', 'place']
    t.match(await cli(piped, input), { code: 0, out: out.replace('payload', 'place') })
  })

  await t.test('NDJSON, with the first of several payloads', async (t) => {
    t.match(
      await cli(['lookup', file('codes.ndjson'), '--index', 'names', '--key', 'code', '--as', 'dial']),
      {
        code: 0,
        out: '{"code":"de","n":"1","dial":"49"}\n{"code":"xx","n":"2","dial":null}\n{"code":null,"n":"3","dial":null}\n',
      },
    )
  })

  await t.test('Parquet of many batches, as DuckDB joins it', async (t) => {
    const seed = seedOfRun()
    t.comment(`TEST_SEED=${seed}`)
    const random = new Random(seed)
    const numbers = await client.createIndex({
      name: 'numbers',
      keyType: 'i64',
      payloadKind: 'u32',
      unique: true,
    })
    const keys = BigInt64Array.from(
      new Set(Array.from({ length: 3000 }, () => BigInt(random.below(10_000)) - 5000n)),
    )
    const payloads = Uint32Array.from(keys, () => random.below(2 ** 32))
    await numbers.insertMany(keys, payloads)
    const duck = await (await DuckDBInstance.create(':memory:')).connect()
    t.teardown(() => duck.closeSync())
    const pairs = Array.from(keys, (key, i) => `(${key}, ${payloads[i]})`)
    await duck.run(`create table held as select * from (values ${pairs.join(',')}) t(key, cents)`)
    const rows = `select i as row, if(i % 17 = 0, null, (i * 7919) % 10000 - 5000) as id, 'x' || i as s from range(140000) t(i)`
    await duck.run(`copy (${rows}) to '${file('rows.parquet')}'`)
    const output = file('priced.parquet')
    const args = ['lookup', file('rows.parquet'), '--index', 'numbers', '--key', 'id', '--as', 'cents']
    const matches = Array.from({ length: 140_000 }, (_, i) => BigInt(((i * 7919) % 10_000) - 5000))
    const known = new Set(keys)
    const count = matches.filter((key, i) => i % 17 !== 0 && known.has(key)).length
    t.match(await cli([...args, '--output', output]), {
      code: 0,
      out: `140,000 rows, ${count.toLocaleString('en-US')} of them found\n`,
      err: '',
    })
    const joined = `select r.*, h.cents::uinteger as cents from '${file('rows.parquet')}' r left join held h on r.id = h.key`
    const differing = `(from '${output}' except all (${joined})) union all ((${joined}) except all from '${output}')`
    const found = await duck.runAndReadAll(
      `select (select count(*) from (${differing})), (select count(*) from '${output}')`,
    )
    t.same(found.getRows(), [[0n, 140000n]])
  })

  await t.test('a file is replaced by what is made of it when that is complete', async (t) => {
    const args = ['lookup', file('own.csv'), '--index', 'cities', '--key', 'city']
    copyFileSync(file('people.csv'), file('own.csv'))
    chmodSync(file('own.csv'), 0o640)
    symlinkSync('own.csv', file('link.csv'))
    const { out } = await cli(args)
    t.match(await cli([...args, '--output', file('link.csv')]), {
      code: 0,
      out: '4 rows, 2 of them found\n',
      err: '',
    })
    t.equal(readFileSync(file('own.csv'), 'utf8'), out)
    t.equal(statSync(file('own.csv')).mode & 0o777, 0o640)
    const bad = ['lookup', file('bad.csv'), '--index', 'cities', '--key', 'id']
    for (const form of ['csv', 'parquet']) {
      t.match(await cli([...bad, '--output', file('own.csv'), '--format', form]), { code: 2 })
      t.equal(readFileSync(file('own.csv'), 'utf8'), out)
    }
    t.match(await cli(['sql', 'select 1 from nowhere', '--output', file('own.csv')]), { code: 2 })
    t.equal(readFileSync(file('own.csv'), 'utf8'), out)
    t.match(await cli([...args, '--as', 'more', '--output', '/dev/full', '--format', 'csv']), {
      code: 2,
      out: '',
      err: /^warpdex: \/dev\/full cannot be written: no space left on device\n$/,
    })
    t.match(await cli([...args, '--as', 'more', '--output', file('none/own.csv')]), {
      code: 2,
      err: /own.csv cannot be written: no such file or directory/,
    })
    t.same(
      readdirSync(directory).filter((name) => name.endsWith('.part')),
      [],
    )
  })

  await t.test('what cannot be looked up is said', async (t) => {
    const of = (name: string, ...more: string[]) => cli(['lookup', file(name), '--index', 'cities', ...more])
    t.match(await of('people.csv', '--key', 'town'), {
      code: 2,
      err: /no column "town"; its columns are zip, name, city/,
    })
    t.match(await of('people.csv', '--key', 'city', '--as', 'zip'), {
      code: 2,
      err: /has a column "zip"; .*--as/,
    })
    t.match(await of('bad.csv', '--key', 'id'), {
      code: 2,
      err: /row 2: "x" is not a number; a key of index "cities"/,
    })
    t.match(await of('none.csv', '--key', 'id'), { code: 2, err: /No files found/ })
    t.match(await of('none.arrow', '--key', 'id'), {
      code: 2,
      err: /lookup reads CSV, TSV, NDJSON and Parquet/,
    })
    t.match(await of('none.cs', '--key', 'id'), {
      code: 2,
      err: /none.cs does not tell what it is; say --file-format csv, tsv, ndjson, parquet/,
    })
    t.match(await cli(['lookup', '-', '--index', 'cities', '--key', 'id']), {
      code: 2,
      err: /standard input does not tell what it is; say --file-format csv/,
    })
    t.match(await cli(['lookup', file('bad.csv'), '--index', 'gone', '--key', 'id']), {
      code: 2,
      err: /UNKNOWN_INDEX/,
    })
  })
})
