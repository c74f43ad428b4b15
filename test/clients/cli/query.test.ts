import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { start } from '../../src/server/start.js'
import { cliOf, compileCli } from './run-cli.js'

t.test('a query out of a file', async (t) => {
  const directory = t.testdir()
  const server = await start(t, { directory: join(directory, 'data') })
  const cli = cliOf(compileCli(directory), { WARPDEX_URL: server.url })
  await server.engine.createRelation({ name: 'r', columns: [{ name: 'k', type: 'i64', nullable: false }] })
  const values = new Uint8Array(BigInt64Array.of(3n, 2n ** 60n, 1n).buffer)
  await server.engine.relation('r').append({ rows: 3, columns: new Map([['k', { values }]]) })
  const query = { op: 'limit', rows: 2, input: { op: 'scan', relation: 'r' } }
  const file = join(directory, 'query.json')
  writeFileSync(file, JSON.stringify(query))
  t.match(await cli(['query', file]), { code: 0, out: '{"k":"3"}\n{"k":"1152921504606846976"}\n' })
  t.match(await cli(['query', '-', '--explain'], JSON.stringify(query)), {
    code: 0,
    out: /^limit: 2 rows \(2 estimated\), .*\n {2}scan: 3 rows/,
  })
  const small = { op: '<', args: [{ column: 'k' }, { value: 9 }] }
  const odd = { op: '<>', args: [{ column: 'k' }, { value: 1 }] }
  const where = { op: 'where', input: query.input, condition: { op: 'and', args: [small, odd] } }
  t.match(await cli(['query', '-', '--explain'], JSON.stringify(where)), {
    code: 0,
    out: /^where \(S1\): 1 rows .*\n\| 1\. k <= 0 or k between 2 and 8\n\| S1 .* ms estimated\n {2}scan: 3 rows/,
  })
  t.match(await cli(['query', '-'], '{"op":"scan"}'), { code: 2, err: /query: "relation" must be a text/ })
})
