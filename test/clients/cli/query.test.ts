import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { asBytes } from '../../../protocol/columns.js'
import { start } from '../../src/server/start.js'
import { cliOf } from './run-cli.js'

/** As much as half of the rows want, and all. */
const curveOf = (half: number, all: number) => [
  { share: 0.5, value: half },
  { share: 1, value: all },
]

const COSTS = {
  workgroup: 256,
  scan: { word: 0.001, wide: 0.002 },
  rates: { word: [1, 0.9, 0.8], wide: [1, 0.95] },
  granule: 15.6,
  branch: curveOf(0.9, 1),
  branching: 2500,
  gathering: 5000,
  gather: { word: 0.02, wide: 0.04 },
  write: 0.002,
  mark: 0.0007,
  copy: 0.002,
  predicate: { interval: 0.0001, search: 0.0003, table: 0.0008, expression: 0.005 },
  match: {
    row: 0.0003,
    string: 0.003,
    byte: 0.002,
    part: { string: curveOf(0.5, 1), byte: curveOf(0.8, 1) },
    branched: curveOf(0.0002, 0.0004),
    tile: 2 ** 13,
    tiles: 2 ** 9,
  },
  launch: 10_000,
  roundTrip: 150_000,
}

const CALIBRATION =
  /\nSelections, in workgroups of 256\nbandwidth, GB\/s +32-bit values +64-bit values\nscan +4,000 +4,000\ngather at row numbers +200 +200\nwrite +2,000 +2,000\ncopy, read and written +4,000 +4,000\n\nr_k, scans of k columns +32-bit values +64-bit values\n1 +1.00 +1.00\n2 +0.90 +0.95\n3 +0.80\n\npredicate beyond reading +ps a row\ninterval +0.100\nstep of a search among intervals +0.300\nbit table +0.800\npart of an expression +5.00\nstrings, none of which is matched +0.300\na string matched +3.00\neach of its bytes +2.00\n\nof the rows +of a column +of strings +of bytes +more behind a branch, ps a row\n50.0 % +0.90 +0.50 +0.80 +0.200\n100 % +1.00 +1.00 +1.00 +0.400\n\nrows fetched together: 16; noting which pass: 0.700 ps a row\nstrings matched at a time: 4,194,304\na branch: 2.50 µs; reading at few row numbers: 5.00 µs\na kernel: 10.0 µs; to learn how many rows are left: 150 µs\n/

t.test('a query out of a file, and what plans are chosen by', async (t) => {
  const directory = t.testdir()
  const measureSelections = async () => COSTS
  const server = await start(t, { directory: join(directory, 'data') }, { measureSelections })
  const cli = cliOf({ WARPDEX_URL: server.url })
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
  t.match(await cli(['calibrate']), {
    code: 0,
    out: /^adapter +SwiftShader.*\ndriver +SwiftShader.*\n\nSelections: not measured yet;.*--again\n\nTraversals: not/,
  })
  t.match(await cli(['calibrate', '--again']), { code: 0, out: CALIBRATION })
  const { out } = await cli(['calibrate', '--json'])
  t.match(JSON.parse(out), { adapter: { software: true }, selections: COSTS })
  const small = { op: '<', args: [{ column: 'k' }, { value: 9 }] }
  const odd = { op: '<>', args: [{ column: 'k' }, { value: 1 }] }
  const where = { op: 'where', input: query.input, condition: { op: 'and', args: [small, odd] } }
  t.match(await cli(['query', '-', '--explain'], JSON.stringify(where)), {
    code: 0,
    out: /^where \(S1\): 1 rows .*\n\| 1\. k <= 0 or k between 2 and 8\n\| S1 .* ms estimated\n {2}scan: 3 rows/,
  })
  const sides = { left: { ...query.input, as: 'a' }, right: { ...query.input, as: 'b' } }
  const joined = { op: 'join', ...sides, on: [['a.k', 'b.k']], algorithm: 'hj' }
  t.match(await cli(['query', '-', '--explain'], JSON.stringify(joined)), {
    code: 0,
    out: /^join \(hj, .*\): 3 rows .* % of the rate of copies\n\| hj .* ms estimated\n {2}scan: 3 rows/,
  })
  t.match(await cli(['sql', 'select 1,\n  nonsense']), {
    code: 2,
    err: /^warpdex: sql: line 2, column 3: .*\n {2}nonsense\n {2}\^\n$/,
  })
  t.match(await cli(['query', `${file}x`]), {
    code: 2,
    err: /warpdex: .*query\.jsonx cannot be read: no such file or directory/,
  })
  t.match(await cli(['query', '-'], '{'), {
    code: 2,
    err: /warpdex: standard input holds no query as JSON: /,
  })
  t.match(await cli(['query', '-'], '{"op":"scan"}'), { code: 2, err: /query: "relation" must be a text/ })

  const columns = [{ name: 'f', type: 'f32', nullable: true }] as const
  await server.engine.createRelation({ name: 'floats', columns })
  const floats = asBytes(Float32Array.of(0.5, Number.NaN, Infinity, -Infinity, 0))
  const validity = Uint8Array.of(0b01111)
  const appended = new Map([['f', { values: floats, validity }]])
  await server.engine.relation('floats').append({ rows: 5, columns: appended })
  t.match(await cli(['query', '-'], '{"op":"scan","relation":"floats"}'), {
    out: '{"f":0.5}\n{"f":"NaN"}\n{"f":"Infinity"}\n{"f":"-Infinity"}\n{"f":null}\n',
  })

  const kept = /^kept 2 rows as few \(k:i64\), for 600 seconds after each use\n$/
  t.match(await cli(['query', file, '--keep', 'few']), { code: 0, out: kept })
  t.match(await cli(['query', file, '--keep', 'few', '--keep-seconds', '90', '--json']), {
    code: 0,
    out: /^{"name":"few","seconds":90,"columns":\[.*],"rows":2}\n$/,
  })
  await server.engine.dropRelation('floats')
  t.match(await cli(['relations']), { out: /indexes +expires\nr +k:i64 .*\nfew +k:i64 .* in \d+ of 90 s\n$/ })
  t.match(await cli(['query', file, '--keep', 'few', '--explain']), { code: 2, err: /mutually exclusive/ })
  for (const option of ['--keep', '--keep-seconds']) {
    const bad = /^warpdex: Not enough arguments following: keep.*; --help shows what is right\n$/
    t.match(await cli(['query', file, option]), { code: 2, err: bad })
  }
  const hint = /UNKNOWN_INDEX: there is no index "few", but a relation; .*drop --relation/
  for (const command of ['drop', 'stats', 'snapshot']) {
    t.match(await cli([command, 'few']), { code: 2, err: hint })
  }
  t.match(await cli(['query', file, '--keep', 'r']), { code: 2, err: /there is a relation "r" already/ })
  t.match(await cli(['drop', '--relation', 'few']), { code: 0, out: 'dropped\n' })
})
