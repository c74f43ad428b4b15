import fc from 'fast-check'
import t from 'tap'
import { WarpdexError } from '../../protocol/errors.js'
import { decodeFrame, encodeFrame, type Section, type SectionType } from '../../protocol/frame.js'
import { CONTROL_OPS, parseControlRequest } from '../../protocol/messages.js'
import { errorHeader, replyError, replyFields, replyHeader } from '../../protocol/replies.js'
import { seedOfRun } from '../random.js'

function section(type: SectionType, length: number): Section {
  return { type, bytes: new Uint8Array(length) }
}

function parse(header: object, sections: Record<string, Section> = {}) {
  return parseControlRequest(decodeFrame(encodeFrame({ id: 1, ...header }, sections)))
}

/** Of whichever request it is. */
function parsed(header: object, sections: Record<string, Section> = {}): Readonly<Record<string, unknown>> {
  return { ...parse(header, sections) }
}

const keys = section('u32', 8)

t.test('every operation in its shortest form, with its defaults', async (t) => {
  const create = { op: 'createIndex', index: 'a', keyType: 'f64', payloadKind: 'fixed(12)' }
  t.match(parse({ op: 'hello', protocol: 1, client: 'c' }), { id: 1, op: 'hello', client: 'c' })
  t.match(parse(create), { ...create, unique: false, ifNotExists: false })
  t.match(parse({ op: 'dropIndex', index: 'a' }), { ifExists: false })
  t.match(parse({ op: 'listIndexes' }), { op: 'listIndexes' })
  t.match(parse({ op: 'stats' }), { index: undefined })
  t.match(parse({ op: 'open', index: 'a' }), { op: 'open', index: 'a' })
  t.match(parse({ op: 'snapshot' }), { index: undefined })
  t.match(parse({ op: 'backup', name: 'monday' }), { name: 'monday' })
  t.match(parse({ op: 'slowRequests' }), { after: 0 })
  t.match(parse({ op: 'cluster' }), { op: 'cluster' })
  t.match(parse({ op: 'position' }), { atLeast: undefined })
  t.match(parse({ op: 'handOver' }), { to: undefined })
  t.match(parse({ op: 'calibrate' }), { again: false })
  t.match(parse({ op: 'cancel', target: 4 }), { target: 4 })
  t.match(parse({ op: 'createRelation', relation: 'r', columns: [{ name: 'c', type: 'u32' }] }), {
    columns: [{ name: 'c', type: 'u32', nullable: false }],
    ifNotExists: false,
  })
  t.match(parse({ op: 'dropRelation', relation: 'r' }), { ifExists: false })
  t.match(parse({ op: 'createRelationIndex', relation: 'r', index: 'a', columns: ['c'] }), { columns: ['c'] })
  t.match(parse({ op: 'listRelations' }), { op: 'listRelations' })
  t.match(parse({ op: 'append', relation: 'r', rows: 2, columns: ['c'] }, { '0.values': keys }), {
    writeId: undefined,
    columns: [{ name: 'c', values: keys, validity: undefined }],
  })
  t.match(parse({ op: 'readRelation', relation: 'r', limit: 5 }), {
    columns: { length: 0 },
    from: 0,
    limit: 5,
  })
  const query = { id: 1, op: 'query', query: { node: 'scan' } }
  const plain = { lists: [], tables: [], sql: undefined, spread: new Map(), plan: false, explain: false }
  t.strictSame(parse(query), { ...query, ...plain, keep: undefined })
  t.match(parse({ op: 'queryNext', cursor: 4 }), { cursor: 4 })
  t.match(parse({ op: 'queryEnd', cursor: 4 }), { cursor: 4 })
  t.match(parse({ op: 'renameIndex', index: 'a', to: 'b' }), { index: 'a', to: 'b' })
  t.match(parse({ op: 'swapIndexes', index: 'a', with: 'b' }), { index: 'a', with: 'b' })
  t.match(parse({ op: 'openVersion', version: 3 }), { version: 3, seconds: 60 })
  t.match(parse({ op: 'closeVersion', version: 3 }), { version: 3 })
  t.match(parse({ op: 'batch' }), { writeId: undefined, joint: undefined, parts: { length: 0 } })
  const joint = { id: 'x', sets: [0, 2] }
  t.match(parse({ op: 'batch', joint }), { joint })
  t.match(parse({ op: 'changeRows', relation: 'r', where: {} }), { set: undefined, lists: { length: 0 } })
  t.equal(CONTROL_OPS.length, 29)
})

t.test('a layout is read in its one form', async (t) => {
  const create = { op: 'createIndex', index: 'a', keyType: 'u32', payloadKind: 'u32' }
  const plain = { id: 1, ...create, unique: false, ttl: undefined, placement: undefined, ifNotExists: false }
  t.strictSame(parse(create), plain)
  t.strictSame(parse({ ...create, layout: 'compact', allocation: 'demand', linked: false }), plain)
  t.strictSame(parse({ ...create, partitionLevels: 12 }), { ...plain, partitionLevels: 12 })
  t.strictSame(parse({ ...create, ttl: 60 }), { ...plain, ttl: 60 })
  t.throws(() => parse({ ...create, ttl: -1 }), { code: 'BAD_REQUEST', message: /ttl/ })
  const placement = [{ set: 2 }, { set: 0, from: '00ff' }]
  t.strictSame(parse({ ...create, placement }), { ...plain, placement })
  for (const wrong of [
    [],
    [{ set: -1 }],
    [{ set: 0, from: '00' }],
    [{ set: 0 }, { set: 0, from: '00' }],
    'all',
  ])
    t.throws(() => parse({ ...create, placement: wrong }), { code: 'BAD_REQUEST', message: /placement/ })
  t.strictSame(parse({ ...create, linked: true }), { ...plain, linked: true })
  const full = { layout: 'full', allocation: 'coalesced' }
  t.strictSame(parse({ ...create, ...full, partitionLevels: 'auto' }), { ...plain, ...full })
})

t.test('relations are spread by rows or as copies, and a query says of each how', async (t) => {
  const requests = [
    { op: 'createRelation', relation: 'r', columns: [{ name: 'c', type: 'u32' }] },
    { op: 'createRelationIndex', relation: 'r', index: 'a', columns: ['c'] },
    { op: 'append', relation: 'r', rows: 0, columns: [] },
    { op: 'changeRows', relation: 'r', where: {} },
    { op: 'readRelation', relation: 'r', limit: 5 },
  ]
  const refused = { code: 'BAD_REQUEST', message: /"spread" of a relation is one of rows, copies/ }
  for (const request of requests) {
    for (const spread of ['rows', 'copies', undefined]) t.equal(parsed({ ...request, spread }).spread, spread)
    for (const wrong of ['cells', 1, ['rows'], { r: 'rows' }])
      t.throws(() => parse({ ...request, spread: wrong }), refused, request.op)
  }
  const query = (spread: unknown) => parsed({ op: 'query', query: {}, spread }).spread
  const spreads = { r: 'rows', c: 'copies' }
  t.strictSame(query(spreads), new Map(Object.entries(spreads)))
  t.throws(() => query({ r: 'rows', c: 'cells' }), refused)
  for (const wrong of ['rows', ['rows'], 1])
    t.throws(() => query(wrong), { code: 'BAD_REQUEST', message: /is a map by names of relations/ })
})

t.test('a query has rows of its own, or is asked for the tree of its statement', async (t) => {
  const appendOf = (relation: string, rows: number): Section => {
    const values = { '0.values': section('u32', 4 * rows) }
    const bytes = encodeFrame({ id: 0, op: 'append', relation, rows, columns: ['c'] }, values)
    return { type: 'bytes', bytes }
  }
  const ask = (tables: unknown, sections = {}) => parsed({ op: 'query', query: {}, tables }, sections).tables
  const columns = [{ name: 'c', type: 'u32', nullable: false }]
  const [one, other] = [
    { name: 'one', columns },
    { name: 'other', columns, of: ['r'] },
  ]
  const sections = {
    'rows.0': appendOf('other', 1),
    'rows.1': appendOf('one', 2),
    'rows.2': appendOf('other', 3),
  }
  t.match(ask([one, other], sections), [
    { definition: one, of: undefined, appends: [{ relation: 'one', rows: 2 }] },
    { definition: { name: 'other', columns }, of: ['r'], appends: [{ rows: 1 }, { rows: 3 }] },
  ])
  t.match(ask([{ ...one, of: [null] }]), [{ of: [null], appends: { length: 0 } }])
  const wrong: [unknown, Record<string, Section>, RegExp][] = [
    ['one', {}, /"tables" is a list of \{name, columns\}/],
    [[{ columns }], {}, /needs a "name"/],
    [[{ name: 'one' }], {}, /needs "columns"/],
    [[{ ...one, of: [] }], {}, /"of" of a table .* for each column/],
    [[{ ...one, of: [1] }], {}, /"of" of a table .* for each column/],
    [[one, one], {}, /two tables of a query have one name/],
    [[one], { 'rows.0': appendOf('r', 1) }, /rows are for "r", which is no table of the query/],
    [[one], { 'rows.1': appendOf('one', 1) }, /no section "rows.1"; its sections are rows.0/],
    [
      [one],
      { 'rows.0': { type: 'bytes', bytes: encodeFrame({ id: 0, op: 'stats' }) } },
      /stats cannot be a part/,
    ],
  ]
  for (const [tables, sections, message] of wrong)
    t.throws(() => ask(tables, sections), { code: 'BAD_REQUEST', message }, String(message))
  const sql = { text: 'select 1' }
  t.match(parse({ op: 'query', sql, plan: true }), { plan: true, query: undefined })
  t.throws(() => parse({ op: 'query', sql, plan: 1 }), { message: /"plan" that is true or false/ })
})

t.test('what is wrong with a request is said, and what would be right', async (t) => {
  const cases: [object, Record<string, Section>, RegExp][] = [
    [{ id: null, op: 'stats' }, {}, /needs an id/],
    [{}, {}, /use one of hello, createIndex/],
    [{ op: 'toString' }, {}, /use one of hello/],
    [{ op: 7 }, {}, /use one of hello/],
    [{ op: 'open' }, {}, /open needs a field "index"/],
    [{ op: 'open', index: 'a', al: true }, {}, /no option "al"; its fields are .*index/],
    [{ op: 'open', index: 'a' }, { keys }, /no section "keys"; it takes none/],
    [{ op: 'get', index: 'a' }, { keys }, /unknown or missing op; use one of hello/],
    [{ op: 'dropIndex', index: 'a', ifExists: 1 }, {}, /"ifExists" that is true or false/],
    [
      { op: 'append', relation: 'r', rows: 1, columns: [], writeId: -1 },
      {},
      /"writeId" that is a whole number/,
    ],
    [{ op: 'readRelation', relation: 'r', limit: 1.5 }, {}, /whole number/],
    [{ op: 'stats' }, { keys }, /no section "keys"; it takes none/],
    [{ op: 'stats', index: '' }, {}, /"index" that is of 1 to 128 bytes/],
    [{ op: 'stats', index: 'a\n' }, {}, /without control characters/],
    [{ op: 'stats', index: 'ä'.repeat(65) }, {}, /of 1 to 128 bytes/],
    [{ op: 'stats', index: 5 }, {}, /"index" that is a string/],
    [{ op: 'stats', ['x'.repeat(9999)]: 5 }, {}, /no option "x{40}…"/],
    [{ op: 'createIndex', index: 'a', payloadKind: 'u32' }, {}, /field "keyType"/],
    [{ op: 'createIndex', index: 'a', keyType: 'u16', payloadKind: 'u32' }, {}, /use one of u32, i32/],
    [{ op: 'createIndex', index: 'a', keyType: 'u32', payloadKind: 'fixed(65)' }, {}, /n from 1 to 64/],
    [{ op: 'createIndex', index: 'a', keyType: 'u32', payloadKind: 'u32', layout: 'x' }, {}, /compact, full/],
    [{ op: 'createIndex', index: 'a', keyType: 'u32', payloadKind: 'u32', linked: 1 }, {}, /true or false/],
    [{ op: 'hello', protocol: 1, client: 'a b' }, {}, /printable ASCII/],
    [{ op: 'cancel', target: 'x' }, {}, /"target"/],
  ]
  for (const [header, sections, message] of cases) {
    t.throws(
      () => parse(header, sections),
      { name: 'WarpdexError', code: 'BAD_REQUEST', message },
      String(message),
    )
  }
})

t.test('no header makes the parser fail otherwise than with a code', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const value = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.nat()),
    fc.object(),
  )
  const names = [
    'index',
    'keyType',
    'payloadKind',
    'limit',
    'mode',
    'protocol',
    'client',
    'target',
    'writeId',
    'strategy',
    'resolution',
    'layout',
    'allocation',
    'partitionLevels',
    'linked',
    'placement',
    'spread',
    'tables',
    'plan',
    'joint',
  ]
  const header = fc
    .tuple(fc.constantFrom(...CONTROL_OPS), fc.dictionary(fc.constantFrom(...names), value))
    .map(([op, fields]) => ({ ...fields, op }))
  fc.assert(
    fc.property(header, fc.boolean(), (fields, withKeys) => {
      try {
        parse(fields, withKeys ? { keys } : {})
      } catch (error) {
        if (!(error instanceof WarpdexError)) throw error
      }
    }),
    { numRuns: 1000, seed },
  )
})

t.test('replies carry success or an error', async (t) => {
  const good = decodeFrame(encodeFrame(replyHeader(3, { dropped: true })))
  t.match(good, { id: 3, header: { ok: true, dropped: true } })
  t.equal(replyError(good), undefined)
  t.strictSame(replyFields(good), { dropped: true })
  const error = new WarpdexError('TOO_LARGE', 'x'.repeat(100_000))
  const bad = decodeFrame(encodeFrame(errorHeader(null, error)))
  t.equal(bad.id, null)
  t.match(replyError(bad), { code: 'TOO_LARGE', message: /^x{2000}$/ })
  const foreign = decodeFrame(encodeFrame({ id: 3, ok: false, error: { code: 'NEW_CODE', message: 'm' } }))
  t.match(replyError(foreign), { code: 'INTERNAL', message: 'm' })
  t.match(replyError(decodeFrame(encodeFrame({ id: 3 }))), { code: 'INTERNAL' })
})
