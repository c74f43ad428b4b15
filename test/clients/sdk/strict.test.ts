import t from 'tap'
import {
  arrowDefinition,
  type Client,
  col,
  connect,
  count,
  descending,
  LIMITS,
  Query,
  relation,
  WarpdexError,
  when,
} from '../../../clients/sdk/index.js'
import { start } from '../../src/server/start.js'
import { FakeServer } from './fake-server.js'
import { cyclic, failureOf, loosely } from './loose-calls.js'

type Call = (options: never) => unknown
/** A call with options, or that there are none. */
type Rows = Readonly<Record<string, Call | 'none'>>

const numbers = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false } as const
const column = { name: 'k', type: 'u32', nullable: false } as const
const r = relation('r')

/** Every method, by what it belongs to, called with the options that are given to it. */
function methodsOf(client: Client): Readonly<Record<string, readonly [object, Rows]>> {
  const index = client.index('numbers')
  const rows = client.relation('r')
  const result = client.query(r)
  return {
    client: [
      client,
      {
        index: 'none',
        createIndex: (options) => client.createIndex(numbers, options),
        dropIndex: (options) => client.dropIndex('numbers', options),
        renameIndex: (options) => client.renameIndex('numbers', 'more', options),
        swapIndexes: (options) => client.swapIndexes('numbers', 'more', options),
        listIndexes: (options) => client.listIndexes(options),
        relation: 'none',
        createRelation: (options) => client.createRelation({ name: 'r', columns: [column] }, options),
        dropRelation: (options) => client.dropRelation('r', options),
        listRelations: (options) => client.listRelations(options),
        stats: (options) => client.stats(options),
        write: (options) => client.write([], options),
        snapshot: (options) => client.snapshot(options),
        takeSnapshot: (options) => client.takeSnapshot('numbers', options),
        backUp: (options) => client.backUp('monday', options),
        handOver: (options) => client.handOver('ws://b:7070', options),
        calibration: (options) => client.calibration(options),
        slowRequests: (options) => client.slowRequests(options),
        position: (options) => client.position(options),
        reached: (options) => client.reached({ positions: [0] }, options),
        splitIndex: (options) => client.splitIndex('numbers', [1], options),
        importFile: (options) => client.importFile('rows.csv', options),
        query: (options) => client.query(r, options),
        explainQuery: (options) => client.explainQuery(r, options),
        sql: (options) => client.sql('select 1', [], options),
        explainSql: (options) => client.explainSql('select 1', [], options),
        close: (options) => client.close(options),
      },
    ],
    index: [
      index,
      {
        definition: (options) => index.definition(options),
        stats: (options) => index.stats(options),
        getMany: (options) => index.getMany([1], options),
        explain: (options) => index.explain([1], options),
        get: (options) => index.get(1, options),
        getAllMany: (options) => index.getAllMany([1], options),
        countMany: (options) => index.countMany([1], options),
        getNextMany: (options) => index.getNextMany([1], options),
        entries: (options) => index.entries(options),
        keys: (options) => index.keys(options),
        values: (options) => index.values(options),
        ranges: (options) => index.ranges(options),
        countRanges: (options) => index.countRanges([], options),
        deleteRange: (options) => index.deleteRange({}, options),
        insertMany: (options) => index.insertMany([1], [1], options),
        has: (options) => index.has(1, options),
        hasMany: (options) => index.hasMany([1], options),
        count: (options) => index.count(1, options),
        getAll: (options) => index.getAll(1, options),
        getNext: (options) => index.getNext(1, options),
        put: (options) => index.put(1, 1, options),
        insert: (options) => index.insert(1, 1, options),
        delete: (options) => index.delete(1, options),
        putMany: (options) => index.putMany([1], [1], options),
        batch: 'none',
        bulkLoad: (options) => index.bulkLoad([], options),
        deleteMany: (options) => index.deleteMany([1], options),
        watch: (options) => index.watch(options),
      },
    ],
    batch: [
      index.batch(),
      {
        put: 'none',
        insert: 'none',
        delete: 'none',
        expect: 'none',
        write: (options) => index.batch().write(options),
      },
    ],
    relation: [
      rows,
      {
        definition: (options) => rows.definition(options),
        stats: (options) => rows.stats(options),
        append: (options) => rows.append({}, options),
        appendBatch: (options) => rows.appendBatch({ rows: 0, columns: new Map() }, options),
        deleteRows: (options) => rows.deleteRows({ where: col('k').eq(0) }, options),
        updateRows: (options) => rows.updateRows({ where: col('k').eq(0), set: { k: 1 } }, options),
        batch: 'none',
        createIndex: (options) => rows.createIndex('by k', ['k'], options),
        read: (options) => rows.read(options),
        pages: (options) => rows.pages(options),
        arrowBatches: (options) => rows.arrowBatches(options),
        appendArrow: (options) => rows.appendArrow(loosely({}), options),
      },
    ],
    query: [
      r,
      {
        where: 'none',
        select: 'none',
        join: (options) => r.join(r, options),
        product: 'none',
        union: (options) => r.union(r, options),
        intersect: (options) => r.intersect(r, options),
        except: (options) => r.except(r, options),
        distinct: 'none',
        groupBy: 'none',
        orderBy: (options) => r.orderBy(options),
        limit: 'none',
      },
    ],
    result: [result, { rows: 'none', columns: 'none', keep: (options) => result.keep('kept', options) }],
  }
}

/** Those whose answer is no promise. */
const THROWING = [
  'query',
  'sql',
  'entries',
  'keys',
  'values',
  'ranges',
  'pages',
  'arrowBatches',
  'join',
  'union',
  'intersect',
  'except',
  'orderBy',
  'watch',
]

t.test('options that are not there, and values that they cannot have, are refused', async (t) => {
  const server = new FakeServer()
  await server.start()
  const client = await connect(server.url)
  t.teardown(async () => {
    client.close()
    await server.stop()
  })
  for (const [owner, [target, rows]] of Object.entries(methodsOf(client))) {
    const prototype = Object.getPrototypeOf(target)
    const methods = Object.entries(Object.getOwnPropertyDescriptors(prototype))
      .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
      .map(([name]) => name)
    t.strictSame(Object.keys(rows).sort(), methods.sort(), `every method of ${owner} has a row`)
    for (const [method, call] of Object.entries(rows)) {
      if (call === 'none') continue
      const refused = async (options: unknown, message: RegExp) => {
        const { error, thrown } = await failureOf(() => call(loosely(options)))
        t.match(error, { code: 'BAD_REQUEST', message }, `${owner}.${method}`)
        t.equal(thrown, THROWING.includes(method), 'throws or rejects')
      }
      await refused({ paylod: [2] }, /has no (option|field) "paylod"; it has \w+/)
      await refused({ toString: undefined }, /has no (option|field) "toString"/)
      if (method !== 'orderBy') {
        for (const options of [null, 7, ['deadline']]) await refused(options, /come as an object with any of/)
      }
      if ([...THROWING.slice(4), 'keep', 'close'].includes(method)) continue
      // An import takes as long as its file, and a split as its index.
      const deadlines = ['importFile', 'splitIndex'].includes(method) ? [] : ['1', -1, Number.NaN, null]
      for (const deadline of deadlines) await refused({ deadline }, /"deadline".*a number/)
      await refused({ signal: {} }, /"signal".*an AbortSignal/)
      await refused(new AbortController().signal, /has no option "aborted"/)
    }
  }
  t.equal(server.requests.length, 0, 'nothing was sent')
  t.equal(server.connections, 1)
})

t.test('beginners are told what is right', async (t) => {
  const server = await start(t)
  const client = await connect(server.url)
  t.teardown(() => client.close())
  const definitions = [
    numbers,
    { name: 'texts', keyType: 'string', payloadKind: 'bytes', unique: false },
    { name: 'wide', keyType: 'u64', payloadKind: 'u64', unique: false },
    { name: 'rows', keyType: 'f32', payloadKind: 'fixed(3)', unique: false },
    { name: 'raw', keyType: 'bytes', payloadKind: 'u32', unique: false },
    { name: 'pairs', keyType: 'tuple(u32,string)', payloadKind: 'u32', unique: false },
  ] as const
  for (const definition of definitions) await client.createIndex(definition)
  await client.createRelation({ name: 'r', columns: [column] })
  const [ints, texts, wide, fixed, raw, pairs] = definitions.map(({ name }) => client.index(name))
  const orders = client.relation('r')
  await texts.insertMany(['k', 'l'], ['v', 'w'])
  await ints.insertMany([1], [10])
  function* some() {
    yield 'k'
  }

  const cases: readonly (readonly [call: () => unknown, message: RegExp, code?: string])[] = [
    [() => connect(loosely(undefined)), /connect takes the address.*ws:.*not undefined/],
    [() => connect(loosely(null)), /not null/],
    [() => connect('localhost:7070'), /"localhost:7070" is not an address of a server; one is ws:/],
    [() => connect('ftp://127.0.0.1'), /is not an address of a server; one is ws:/],
    [() => connect(server.url, loosely({ tokn: 'x' })), /connect has no option "tokn"; it has .*\btoken\b/],
    [() => connect(server.url, loosely({ token: 5 })), /"token" of connect is a text, not 5/],
    [() => connect(server.url, loosely({ reconnect: false })), /connect.reconnect.*attempts/],
    [() => connect(server.url, loosely({ reconnect: { atempts: 1 } })), /it has .*\battempts\b/],
    [() => connect(server.url, loosely({ connectTimeout: Number.POSITIVE_INFINITY })), /milliseconds from 0/],

    [
      () => client.index(loosely(undefined)),
      /index takes the name of an index, such as "orders", not undefined/,
    ],
    [() => client.relation(loosely(5)), /takes the name of a relation/],
    [() => client.createIndex(loosely({ keyType: 'u32' })), /createIndex takes the name of an index/],
    [() => client.createIndex(loosely({ ...numbers, keyType: undefined, name: 'n' })), /keyType/],
    [() => client.createIndex(loosely(undefined)), /fields of createIndex come as an object/],
    [() => client.createIndex(loosely({ ...numbers, uniqe: true })), /no field "uniqe".*it has .*\bunique\b/],
    [() => client.createIndex(loosely({ ...numbers, unique: 'no' })), /"unique".*true or false, not "no"/],
    [
      () => client.createIndex({ ...numbers, of: { relation: 'r', columns: ['k'] } }),
      /relation\(name\)\.createIndex/,
    ],
    [() => client.createRelation(loosely(undefined)), /fields of createRelation come as/],
    [
      () => client.createRelation(loosely({ name: 'x', columns: [{ name: 'a', typ: 'u32' }] })),
      /"type" out of boolean, u32/,
    ],
    [() => client.dropIndex(loosely(undefined)), /takes the name of an index/],
    [() => client.renameIndex('numbers', loosely(undefined)), /takes the name of an index/],
    [() => client.swapIndexes('numbers', loosely({})), /takes the name of an index/],
    [
      () => client.handOver(loosely({ to: 'ws://b:7070' })),
      /handOver takes the name of a node.*not an Object/,
    ],
    [() => client.takeSnapshot(loosely({ deadline: 5 })), /takes the name of an index.*not an Object/],

    [
      () => texts.getMany(loosely('k')),
      /a list such as \["a"\], not "k"; a single key is a list of one, \["k"\].*given to get/,
    ],
    [
      () => texts.getMany(loosely(undefined)),
      /keys of index "texts" \(string\) are .* a list such as \["a"\], not undefined/,
    ],
    [() => texts.getMany(loosely((k: string) => k)), /not a function/],
    [() => texts.getMany(loosely(new Set(['k']))), /not a Set; Array\.from makes a list of it/],
    [() => texts.getMany(loosely(some())), /Array\.from makes a list of it/],
    [
      () => texts.getMany(loosely(['k', null])),
      /null is not of type string: key 1 for index "texts" must be a text/,
    ],
    [() => texts.getMany(loosely([['k']])), /\["k"\] is not of type string: key 0/],
    [
      () => texts.getMany(loosely({ bytes: 'k', offsets: [0, 1] })),
      /are a \{bytes, offsets\}.*not an Object/,
    ],
    [
      () => texts.get(loosely(['k'])),
      /get takes a single key, such as "a", not \["k"\]; getMany takes a list/,
    ],
    [() => texts.get(loosely(undefined)), /get takes a single key/],
    [() => raw.getMany(['k']), /"k" is not of type bytes.*new TextEncoder\(\)\.encode\(text\)/],
    [() => raw.getMany(holed(new Uint8Array(1))), /undefined is not of type bytes: key 0/],
    [() => ints.getMany([1, -1]), /-1 is not of type u32: key 1 .* a whole number from 0 to 4294967295/],
    [() => ints.getMany([1.5]), /1\.5 is not of type u32/],
    [() => ints.getMany([2 ** 32]), /4294967296 is not of type u32/],
    [() => ints.getMany([Number.NaN]), /NaN is not of type u32/],
    [() => ints.getMany([1n]), /1n is not of type u32.*a whole number/],
    [() => ints.getMany(loosely(['1'])), /"1" is not of type u32/],
    [() => ints.getMany(loosely(1)), /a single key is a list of one, \[1\]/],
    [
      () => ints.getMany(loosely(Int32Array.of(1))),
      /keys are an Int32Array.*a Uint32Array or a list/,
      'WRONG_KEY_TYPE',
    ],
    [() => wide.getMany([2 ** 60]), /is not of type u64: key 0 .* a bigint/],
    [() => wide.getMany([-1n]), /-1n is not of type u64/],
    [() => fixed.getMany([1e300]), /1e\+300 is not of type f32/],
    [
      () => pairs.getMany(loosely([1, 'a'])),
      /1 is not of type tuple\(u32,string\): key 0 .*such as \[1, "a"\]/,
    ],
    [() => pairs.getMany([[1, 'a'], [1]]), /\[1\] is not of type tuple.*key 1/],
    [
      () => pairs.getMany([[1, 'a'], loosely(['a', 1])]),
      /"a" is not of type u32, which part 0 of key 1 must be/,
    ],
    [() => pairs.getMany([holed('a')]), /undefined is not of type u32, which part 0 of key 0/],

    [
      () => texts.insertMany(['k'], loosely('v')),
      /"v" does not fit.*a list of texts or Uint8Arrays, one a key.*\["v"\]/,
    ],
    [() => texts.insertMany(['k'], loosely(undefined)), /undefined does not fit index "texts"/],
    [() => texts.insertMany(['k'], loosely(some())), /Array\.from makes a list of it/],
    [
      () => texts.insertMany(['k'], new TextEncoder().encode('v')),
      /a Uint8Array does not fit.*list of texts or Uint8Arrays/,
    ],
    [() => texts.insertMany(['k'], loosely([{ a: 1 }])), /payload 0 \(an Object\) does not fit/],
    [() => texts.insertMany(['k', 'l'], ['v']), /2 keys came with 1 payloads; each needs one/],
    [() => ints.insertMany([1, 2], [1, -1]), /payload 1 \(-1\).*whole numbers from 0 to 4294967295/],
    [() => ints.insertMany([1], [1n]), /payload 0 \(1n\)/],
    [() => ints.insertMany([1], holed(1)), /payload 0 \(undefined\)/],
    [() => wide.insertMany([1n], [2 ** 60]), /payload 0 .*bigints from 0n/],
    [() => fixed.insertMany([1], ['four']), /payload 0 \("four"\)/],
    [() => fixed.insertMany([1], holed('abc')), /payload 0 \(undefined\)/],
    [() => ints.insertMany([1], [1], loosely({ mode: 'replace' })), /"mode".*it has .*\bifExists\b/],
    [() => ints.insertMany([1], [1], loosely({ ifExists: 'replace' })), /one of add, keep, not "replace"/],
    [() => ints.insertMany([1], [1], loosely({ strategy: 'fast' })), /one of sequential/],
    [
      () => texts.deleteMany(['k'], loosely({ payload: ['w'] })),
      /deleteMany has no option "payload".*it has .*\bpayloads\b/,
    ],
    [() => texts.deleteMany(['k'], loosely(['w'])), /options of deleteMany come as an object/],
    ...[null, '', 0, false].map(
      (payloads) =>
        [() => texts.deleteMany(['k'], loosely({ payloads })), /does not fit index "texts"/] as const,
    ),

    [() => texts.put(loosely(['k']), 'v'), /put takes a single key, such as "a", not \["k"\]; putMany takes/],
    [() => texts.put('k', loosely(undefined)), /payload 0 \(undefined\) does not fit/],
    [() => texts.put('k', 'x'.repeat(LIMITS.payloadBytes + 1)), /1048577 bytes; 1048576 are/, 'TOO_LARGE'],
    [() => texts.delete('k', loosely({ payload: null })), /payload 0 \(null\) does not fit/],
    [() => ints.insert(1, 1, loosely({ ifExists: 'throw' })), /one of add, keep, error, not "throw"/],
    [() => ints.getNext(1, { sequence: -1 }), /"sequence" of getNext is a sequence number/],
    [() => fixed.put(Number.NaN, 'abc'), /NaN is not a key/],
    [() => ints.batch().insert(1, 1, loosely({ ifExist: 'keep' })), /insert has no option "ifExist"/],
    [
      () => ints.batch().delete(1, loosely({ payloads: [1] })),
      /delete has no option "payloads"; it has payload/,
    ],
    [() => ints.batch().insert(1, loosely(undefined)).write(), /payload 0 \(undefined\)/],
    [
      () =>
        ints
          .batch()
          .delete(1)
          .delete(1, { payload: loosely(null) })
          .write(),
      /payload 1 \(null\)/,
    ],

    [() => texts.entries(loosely({ gte: 'zz' })), /entries has no option "gte"; it has from, to, prefix/],
    [() => texts.entries(loosely({ limit: '10' })), /"limit" of entries is a number from 0, not "10"/],
    [() => texts.entries(loosely({ limit: null })), /"limit"/],
    [() => texts.entries(loosely({ after: 'x' })), /"after" of entries is a Uint8Array, not "x"/],
    [() => texts.entries(loosely({ prefix: 5 })), /5 is not of type string/],
    [() => texts.ranges(loosely(undefined)), /options of ranges come as an object/],
    [() => texts.ranges(loosely({ prefix: ['a'], pageSize: 1 })), /no prefix; entries\(\{prefix\}\)/],
    [() => texts.ranges(loosely({ from: ['a'] })), /a page of ranges has 1 to/],
    [
      () => ints.ranges(loosely({ from: [1], to: 0, pageSize: 1 })).firstPage(),
      /not 0; a single key is a list/,
    ],
    [() => ints.getNextMany([1], loosely({ sequences: [1] })), /"sequences".*Uint32Array/],
    [() => ints.bulkLoad(loosely(undefined)), /bulkLoad takes a batch \{keys, payloads, expireAt\?\}/],
    [
      () => ints.bulkLoad(loosely({ keys: [1] })),
      /bulkLoad takes a batch \{keys, payloads, expireAt\?\}.*not an Object/,
    ],
    [() => ints.bulkLoad(loosely([{ keys: [1], payload: [1] }])), /bulkLoad takes a batch .*not an Object/],
    [() => ints.bulkLoad(loosely([1])), /bulkLoad takes a batch .*not 1/],
    [() => ints.bulkLoad([], loosely({ onprogress: () => {} })), /it has .*\bonProgress\b/],

    [() => orders.append(loosely([{ k: 1 }])), /values by column, as in \{ k: \[…\] \}, not \[an Object\]/],
    [() => orders.append(loosely(undefined)), /values by column/],
    [() => orders.append(loosely({ k: 1 })), /column "k" takes an array/],
    [() => orders.append(loosely({ k: ['1'] })), /row 0 of column "k" has "1", which is not of type u32/],
    [() => orders.read(loosely({ columns: 'k' })), /"columns" of read is a list of texts, not "k"/],
    [() => orders.read(loosely({ limit: '10' })), /"limit" of read/],
    [() => orders.createIndex('by k', loosely('k')), /a list of texts, the columns, not "k"/],
    [() => orders.createIndex(loosely(undefined), ['k']), /takes the name of an index/],
    [() => orders.appendArrow(loosely({ k: [1] })), /an Arrow table or record batch/],
    [() => arrowDefinition('x', loosely(undefined)), /an Arrow schema/],

    [
      () => r.where(loosely('k > 3')),
      /where takes a condition, such as where\(col\('k'\)\.gt\(3\)\), not "k > 3"/,
    ],
    [() => r.where(loosely(true)), /where takes a condition.*not true/],
    [() => r.where(loosely(undefined)), /not undefined/],
    [() => r.join(loosely('q'), { on: 'k' }), /join takes a query, such as relation\('orders'\)/],
    [() => r.join(r, loosely(undefined)), /options of join come as an object with any of on, band/],
    [() => r.join(r, loosely({ on: 'k', where: 1 })), /join has no option "where"/],
    [() => r.join(r, loosely({ on: { k: 'k' } })), /on of join is a column's name, or a list/],
    [() => r.join(r, loosely({ on: 'k', kind: 'outer' })), /one of inner, left/],
    [() => r.join(r, loosely({ band: { left: 'k', right: 'k', widht: 1 } })), /it has .*\bwidth\b/],
    [() => r.union(r, loosely({ ALL: true })), /union has no option "ALL".*it has .*\ball\b/],
    [() => r.except(loosely([])), /except takes a query/],
    [() => r.select(loosely('k')), /select takes a list of names, or values by their names.*not "k"/],
    [() => r.select(loosely([col('k')])), /select takes a list of names/],
    [() => r.select(loosely(col('k'))), /not a Value/],
    [() => r.groupBy(loosely('k'), { n: count() }), /groupBy takes a list of names/],
    [
      () => r.groupBy(['k'], loosely({ n: col('k') })),
      /aggregates by their names, such as \{total: sum\('a'\)\}/,
    ],
    [() => r.groupBy(['k'], loosely(count())), /aggregates by their names/],
    [() => r.orderBy(loosely(7)), /orderBy takes names of columns and values.*not a number/],
    [() => r.orderBy(loosely({ column: 'k', desc: true })), /no field "desc"/],
    [() => r.limit(loosely('10')), /rows of limit are a whole number from 0, not "10"/],
    [() => r.limit(1, -1), /offset of limit/],
    [() => relation(loosely(undefined)), /takes the name of a relation/],
    [() => descending(loosely(7)), /descending takes the name of a column/],
    [() => col(loosely(5)), /col takes the name of a column/],
    [() => col('k').startsWith(loosely(5)), /startsWith takes a text, not 5/],
    [() => when(loosely(col('k'))), /when takes a list of branches/],
    [() => when(loosely([col('k')])), /when takes a list of branches/],
    [() => client.query(loosely('select 1')), /query takes a query.*not "select 1"/],
    [() => client.explainQuery(loosely(undefined)), /explainQuery takes a query/],
    [() => client.query(r).keep(loosely(undefined)), /takes the name of a relation/],
    [() => client.query(r).keep('x', loosely({ second: 5 })), /it has .*\bseconds\b/],
    [
      () => client.query(new Query(loosely({ op: 'scan', relation: () => 1 }))),
      /a function is not part of a query/,
    ],
    [() => client.query(new Query(loosely(cyclic()))), /at most 64 levels deep/],
  ]
  for (const [call, message, code = 'BAD_REQUEST'] of cases) {
    const { error } = await failureOf(call)
    t.match(error, { code, message }, call.toString())
    t.ok(error instanceof WarpdexError)
  }
  const byHttp = await connect(server.url.replace('ws:', 'http:'))
  t.equal((await byHttp.listIndexes()).length, definitions.length, 'an address by http means the same')
  await byHttp.close()
  t.strictSame([...(await ints.countMany([1]))], [1], 'nothing was changed')
  t.strictSame([...(await texts.countMany(['k', 'l']))], [1, 1])
  t.equal((await orders.stats()).rows, 0)
  await client.createIndex({ ...(await ints.definition()), name: 'copy' })
  await client.createRelation({ ...(await orders.definition()), name: 'copy' })
  const [info] = await client.listRelations()
  await client.createRelation({ ...info, name: 'another copy' })
  t.strictSame([...(await ints.batch().delete(1).write())], [3])
})

/** A list without a first element, which methods of arrays pass over. */
function holed(...rest: readonly unknown[]): never {
  return loosely(new Array(1).concat(rest))
}
