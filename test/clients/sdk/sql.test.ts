import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connect, type SqlValues } from '../../../clients/sdk/index.js'
import { loadConfig, startServer } from '../../../src/server/index.js'
import { Random, seedOfRun } from '../../random.js'
import { appendRelation } from '../../src/query/append-relation.js'
import { DuckOracle, difference } from '../../src/query/duck-oracle.js'
import type { Cell } from '../../src/query/host-relation.js'
import { randomRelation } from '../../src/query/relations.js'
import { cliOf } from '../cli/run-cli.js'

const TOKENS = {
  operator: 'operator-operator-operator',
  reader: 'reader-reader-reader-reader',
} as const

t.test('statements of a client', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const relations = [randomRelation(random, 'r', 500), randomRelation(random, 'secret', 30)]
  const oracle = await DuckOracle.open(relations)
  t.teardown(() => oracle.close())
  const folder = t.testdir()
  const tokens = join(folder, 'tokens.json')
  const entries = [
    { name: 'operator', token: TOKENS.operator, admin: true },
    { name: 'reader', token: TOKENS.reader, rights: [{ index: 'r', allow: ['read'] }] },
  ]
  writeFileSync(tokens, JSON.stringify({ tokens: entries }), { mode: 0o600 })
  const flags = { port: 0, ioThreads: 1, directory: join(folder, 'data'), tokens }
  const server = await startServer(loadConfig({ flags }))
  t.teardown(() => server.close())
  for (const each of relations) await appendRelation(server.engine, each)
  const client = await connect(server.url, { token: TOKENS.operator })
  t.teardown(() => client.close())
  const reader = await connect(server.url, { token: TOKENS.reader })
  t.teardown(() => reader.close())

  const same = async (text: string, values?: SqlValues, written = text) => {
    const rows = (await client.sql(text, values).rows()).map((row) => Object.values(row))
    const wanted = await oracle.rows(written)
    t.equal(difference(rows as Cell[][], wanted, [], /order by/.test(text)), undefined, text)
  }

  await t.test('rows, columns and batches are those of a query', async (t) => {
    await same('select id, s, d, c from r where i > 0 order by id')
    const columns = await client.sql('select id, id, id + 1 as next from r order by id limit 2').columns()
    t.same(Object.keys(columns), ['id', 'id_1', 'next'])
    let rows = 0
    for await (const batch of client.sql('select id from r')) rows += batch.length
    t.equal(rows, 500)
    const kept = await client.sql('select s, count(*) as n from r group by s').keep('busy')
    t.same(await client.sql('select sum(n) as n from busy').rows(), [{ n: 500n }])
    t.same(
      kept.columns.map(({ name }) => name),
      ['s', 'n'],
    )
  })

  await t.test('a statement that comes again asks for what there is by then', async (t) => {
    const text = 'select * from passing order by 1'
    const fill = async (type: 'u32' | 'string', values: number[] | string[]) => {
      await client.createRelation({ name: 'passing', columns: [{ name: type, type, nullable: false }] })
      await client.relation('passing').append({ [type]: values })
    }
    await fill('u32', [7])
    t.same(await client.sql(text).rows(), [{ u32: 7 }])
    await client.relation('passing').append({ u32: [8] })
    t.same(await client.sql(text).rows(), [{ u32: 7 }, { u32: 8 }])
    await t.rejects(
      reader.sql(text).rows(),
      { code: 'BAD_REQUEST' },
      'whoever may not read it is told of none',
    )
    await client.dropRelation('passing')
    await fill('string', ['seven'])
    t.same(await client.sql(text).rows(), [{ string: 'seven' }])
    await client.dropRelation('passing')
    await t.rejects(client.sql(text).rows(), { code: 'BAD_REQUEST' })
  })

  await t.test('parameters are constants of their types', async () => {
    await same(
      'select id from r where i > ? and s <> ?',
      [-3, "it's"],
      "select id from r where i > -3 and s <> 'it''s'",
    )
    await same('select id from r where u = $1 or i = $1', [5], 'select id from r where u = 5 or i = 5')
    await same(
      "select id, '?' as q, $$ ?1 $$ as w from r /* ? */ where d > $day and (c < $most or $none is null) -- $x",
      { day: '1994-01-01', most: 12.5, none: null },
      "select id, '?', ' ?1 ' from r where d > '1994-01-01'",
    )
    await same('select id from r where il < ?', [2n ** 40n], 'select id from r where il < 1099511627776')
    const date = new Date('1990-03-04T05:06:07.008Z')
    await same(
      'select id from r where t >= ?',
      [date],
      "select id from r where t >= '1990-03-04 05:06:07.008'",
    )
  })

  await t.test('an EXPLAIN says what operators did', async (t) => {
    const explanation = await client.explainSql('explain select count(*) from r where i > ?', [0])
    t.equal(explanation.op, 'project')
    t.match(await client.explainSql('select 1 from r'), { rows: 500 })
    await t.rejects(client.sql('explain select 1 from r').rows(), { message: /explainSql/ })
  })

  await t.test('what is wrong has a place, and what there is', async (t) => {
    const wrong = async (text: string, message: RegExp, values?: SqlValues) =>
      t.rejects(client.sql(text, values).rows(), { code: 'BAD_REQUEST', message }, text)
    await wrong('selec 1', /^sql: line 1, column 1: syntax error at or near "selec"\nselec 1\n\^$/)
    await wrong(
      "select 'é',\n  nothing\nfrom r",
      /^sql: line 2, column 3: .*"nothing" not found[\s\S]*\n {2}nothing\n {2}\^$/,
    )
    await wrong('select * from nowhere', /^sql: line 1, column 15: [\s\S]*the relations are r, secret/)
    await wrong('select id from r where ? < s + 1', /^sql: line 1, column 30: No function matches/, [1])
    await wrong(
      "select id from r where d > 'soon'",
      /the text "soon" cannot be cast to DATE; a date is written/,
    )
    await wrong('select median(d) from r', /^sql: there is no median of date$/)
    await wrong('select sqrt(i) from r', /^sql: the function sqrt is not supported; the functions are abs, /)
    await wrong("select id from r where s ilike 'a%'", /^sql: the operator ilike is not supported$/)
    await wrong('select row_number() over () from r', /^sql: a window function \(over\) is not supported; /)
    await wrong(
      'select string_agg(s) from r',
      /^sql: the aggregate string_agg is not supported; there are count, /,
    )
    await wrong('select * from r where i = ?', /has a parameter \$1, and 0 are given/)
    await wrong('select * from r', /has no parameter \$1/, [1])
    await wrong('select * from r where i = $a', /parameter \$a, and given are b/, { b: 1 })
    t.throws(() => client.sql(1 as never), { message: /the text of a SELECT/ })
    t.throws(() => client.sql('select ?', [{}] as never), { message: /parameter \$1 must be a number/ })
  })

  await t.test('who may not read a relation is not told of it', async (t) => {
    t.same(await reader.sql('select count(*) as n from r').rows(), [{ n: 500 }])
    await t.rejects(reader.sql('select * from secret').rows(), { message: /the relations are r\n/ })
    await t.rejects(reader.sql('select secret.nope from r').rows(), { code: 'BAD_REQUEST' })
  })

  await t.test('the command line', async (t) => {
    const run = cliOf({ WARPDEX_URL: server.url, WARPDEX_TOKEN: TOKENS.operator })
    const cli = (...args: string[]) => run(args)
    const counted = await cli('sql', 'select count(*) as n from r where id < ?', '7')
    t.match(counted, { code: 0, out: '{"n":7}\n' })
    const file = join(folder, 'statement.sql')
    writeFileSync(file, 'select id, s from r where id = $id')
    t.match(await cli('sql', '--file', file, '--parameters', '{"id": 3}', '--format', 'csv'), {
      code: 0,
      out: /^id,s\n3,/,
    })
    t.match(await cli('sql', 'EXPLAIN select id from r'), { code: 0, out: /scan: 500 rows/ })
    t.match(await cli('sql', 'select\n wrong from r'), { code: 2, err: /line 2, column 2: [\s\S]*\^/ })
  })
})
