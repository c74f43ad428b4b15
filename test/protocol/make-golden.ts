// Writes protocol/golden/*.json: node --import=./test/typescript.mjs test/protocol/make-golden.ts, then npx biome format --write protocol/golden
import { writeFileSync } from 'node:fs'
import { toWarpdexError } from '../../protocol/errors.js'
import { encodeFrame } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import { readRequest } from '../../protocol/messages.js'
import { encodeGolden, type GoldenColumn, type GoldenData, type GoldenMessage, refusedId } from './golden.js'

const LARGEST = 2 ** 53 - 1
const hex = (text: string) => Buffer.from(text).toString('hex')

const u32 = (name: string, ...values: number[]): GoldenColumn => ({ name, type: 'u32', values })
const bytes = (name: string, ...rows: string[]): GoldenColumn => {
  const offsets = [0]
  for (const row of rows) offsets.push(offsets.at(-1)! + row.length / 2)
  return { name, type: 'bytes', bytes: rows.join(''), offsets }
}
const blob = (name: string, content: string): GoldenColumn => ({ name, type: 'bytes', bytes: content })

const control = (header: object, ...sections: GoldenColumn[]): GoldenMessage => ({
  header: { ...header },
  sections,
})
const ask = (
  id: number,
  op: GoldenData['op'],
  count: number,
  columns: GoldenColumn[],
  more: Partial<GoldenData> = {},
) => ({
  ...{ id, op, handle: 3, generation: 1, count },
  ...more,
  columns,
})
const answer = (id: number, op: GoldenData['op'], ...columns: GoldenColumn[]): GoldenMessage => ({
  id,
  op,
  columns,
})

const CREATE = { op: 'createIndex', index: 'cities', keyType: 'u32', payloadKind: 'u32' }
const DEFINITION = { name: 'cities', keyType: 'u32', payloadKind: 'u32', unique: true }

const controlRequests: Record<string, GoldenMessage> = {
  hello: control({ id: 0, op: 'hello', protocol: 2, client: 'golden' }),
  'hello of version 1, which is read and refused by the server': control({
    id: 0,
    op: 'hello',
    protocol: 1,
    client: 'golden',
  }),
  cluster: control({ id: 5, op: 'cluster' }),
  position: control({ id: 20, op: 'position', atLeast: 12 }),
  handOver: control({ id: 21, op: 'handOver', to: 'ws://b:7070' }),
  open: control({ id: 1, op: 'open', index: 'cities' }),
  createIndex: control({ id: 127, ...CREATE }),
  'createIndex with everything': control({
    ...{
      id: 128,
      ...CREATE,
      keyType: 'tuple(u32,string)',
      payloadKind: 'fixed(12)',
      unique: true,
      ttl: 3600,
      ifNotExists: true,
    },
    ...{ structure: 'prefix', layout: 'full', allocation: 'coalesced', partitionLevels: 16, linked: true },
  }),
  dropIndex: control({ id: 65_536, op: 'dropIndex', index: 'cities', ifExists: true }),
  renameIndex: control({ id: 9, op: 'renameIndex', index: 'cities', to: 'Städte' }),
  swapIndexes: control({ id: 10, op: 'swapIndexes', index: 'cities', with: 'Städte' }),
  'listIndexes with the largest id': control({ id: LARGEST, op: 'listIndexes' }),
  stats: control({ id: 2, op: 'stats', index: 'Städte' }),
  createRelation: control({
    ...{ id: 3, op: 'createRelation', relation: 'r' },
    columns: [
      { name: 'id', type: 'u64' },
      { name: 'name', type: 'string', nullable: true },
    ],
  }),
  dropRelation: control({ id: 4, op: 'dropRelation', relation: 'r' }),
  createRelationIndex: control({
    id: 5,
    op: 'createRelationIndex',
    relation: 'r',
    index: 'by id',
    columns: ['id'],
  }),
  listRelations: control({ id: 6, op: 'listRelations' }),
  append: control(
    { id: 7, op: 'append', relation: 'r', rows: 2, columns: ['id', 'name'], writeId: LARGEST },
    { name: '0.values', type: 'u64', values: ['7', '18446744073709551615'] },
    u32('1.values', 0, 0),
    { name: '1.validity', type: 'u8', values: [1] },
    blob('1.strings', hex('Köln')),
    u32('1.offsets', 0, 5),
  ),
  changeRows: control(
    {
      ...{ id: 18, op: 'changeRows', relation: 'r', lists: 1, writeId: 5 },
      where: { op: 'in', args: [{ column: 'id' }], lists: [0] },
      set: { name: { value: 'Köln' } },
    },
    { name: '0.values', type: 'i64', values: ['7', '8'] },
  ),
  readRelation: control({ id: 8, op: 'readRelation', relation: 'r', columns: ['id'], from: 2, limit: 100 }),
  openVersion: control({ id: 16, op: 'openVersion', version: 3, seconds: 120 }),
  closeVersion: control({ id: 17, op: 'closeVersion', version: 3 }),
  snapshot: control({ id: 9, op: 'snapshot', relation: 'r' }),
  backup: control({ id: 10, op: 'backup', name: 'monday' }),
  slowRequests: control({ id: 19, op: 'slowRequests', after: 41 }),
  calibrate: control({ id: 11, op: 'calibrate', again: true }),
  query: control(
    {
      ...{ id: 12, op: 'query', lists: 1 },
      query: {
        op: 'where',
        input: { op: 'scan', relation: 'r' },
        condition: { op: 'in', args: [{ column: 'id' }, { value: 5 }], lists: [0] },
      },
    },
    { name: '0.values', type: 'i64', values: ['-9223372036854775808', '7'] },
  ),
  queryNext: control({ id: 13, op: 'queryNext', cursor: 1 }),
  queryEnd: control({ id: 14, op: 'queryEnd', cursor: 1 }),
  cancel: control({ id: 15, op: 'cancel', target: 14 }),
}

const EXPECT = 'expect, which is a part of a batch: no payload, any, one and a sequence number'

const dataRequests: Record<string, GoldenMessage> = {
  get: ask(5, 'get', 2, [u32('keys', 7, 42)]),
  'get of strings, with a strategy and a deadline': ask(
    6,
    'get',
    3,
    [bytes('keys', hex('Köln'), '', hex('a'))],
    {
      deadline: 1500,
      traversal: { strategy: 'directed', resolution: 'reversed' },
    },
  ),
  'get by one thread a key': ask(6, 'get', 1, [u32('keys', 7)], { traversal: { strategy: 'sequential' } }),
  'get with sequence numbers': ask(7, 'get', 2, [u32('keys', 7, 42)], { withSequences: true }),
  'get of a read version': ask(8, 'get', 2, [u32('keys', 7, 42)], { version: 3 }),
  'get of nothing': ask(0, 'get', 0, [u32('keys')]),
  'getAll of tuples (u32, string, i32), the largest id, handle and generation': ask(
    LARGEST,
    'getAll',
    1,
    [bytes('keys', '00000007' + '6100ff620000' + '7fffffff')],
    { handle: 2 ** 32 - 1, generation: 2 ** 32 - 1 },
  ),
  'count of floats': ask(8, 'count', 2, [{ name: 'keys', type: 'f64', values: [-1.5, 1e300] }]),
  'getNext, downwards from entries': ask(9, 'getNext', 2, [u32('keys', 7, 42), u32('sequences', 0, 3)], {
    reverse: true,
  }),
  'scan of all': ask(10, 'scan', 1, [], { limit: 100 }),
  'scan that opens a read version': ask(10, 'scan', 1, [], { limit: 100, version: 3, opensVersion: true }),
  'scan of two ranges, downwards, without their ends': ask(
    11,
    'scan',
    2,
    [u32('from', 0, 100), u32('to', 50, 200)],
    {
      ...{ limit: 10, reverse: true, fromExclusive: true, toExclusive: true },
    },
  ),
  'scan of strings that goes on; the second range is finished': ask(
    12,
    'scan',
    2,
    [bytes('from', hex('a'), hex('b')), bytes('tokens', `${hex('ab')}01000000`, 'ffffffff')],
    { limit: 10 },
  ),
  'scan of keys only': ask(10, 'scan', 1, [u32('from', 7)], { limit: 100, withoutPayloads: true }),
  'scan of payloads only': ask(10, 'scan', 1, [], { limit: 100, withoutKeys: true }),
  'countRanges of two, without their ends to the right': ask(
    22,
    'countRanges',
    2,
    [u32('from', 0, 100), u32('to', 50, 200)],
    { toExclusive: true },
  ),
  'deleteRange, once': ask(23, 'deleteRange', 1, [u32('from', 7)], { fromExclusive: true, writeId: 9 }),
  'watch from now on': ask(24, 'watch', 0, [], { limit: 100 }),
  'watch behind a position': ask(24, 'watch', 0, [], { limit: 100, position: LARGEST }),
  'watch behind position 0, until something comes': ask(25, 'watch', 0, [], { position: 0 }),
  'watch behind a read version': ask(26, 'watch', 0, [], { limit: 1, version: 3 }),
  explain: ask(13, 'explain', 1, [u32('keys', 7)], {
    traversal: { strategy: 'speculative', resolution: 'serial' },
  }),
  'insert of u64 payloads': ask(14, 'insert', 2, [
    { name: 'keys', type: 'i64', values: ['-1', '9223372036854775807'] },
    { name: 'payloads', type: 'u64', values: ['0', '18446744073709551615'] },
  ]),
  'insert of payloads of any length, in the place of others, once': ask(
    15,
    'insert',
    2,
    [u32('keys', 7, 42), bytes('payloads', hex('one'), '')],
    { mode: 'replace', writeId: LARGEST },
  ),
  'delete of keys': ask(16, 'delete', 1, [u32('keys', 7)]),
  'delete of pairs, with write id 0': ask(17, 'delete', 1, [u32('keys', 7), u32('payloads', 1000)], {
    writeId: 0,
  }),
  'write of an insert, a delete of a key and one of a pair': ask(18, 'write', 3, [
    { name: 'ops', type: 'u8', values: [0, 3, 4] },
    u32('keys', 7, 7, 42),
    u32('payloads', 1, 0, 1000),
  ]),
  [EXPECT]: ask(24, 'expect', 4, [
    u32('keys', 7, 8, 9, 10),
    { name: 'conditions', type: 'u8', values: [0, 1, 2, 3] },
    u32('payloads', 0, 0, 1000, 0),
    u32('sequences', 0, 0, 0, 3),
  ]),
  'load of the first part': ask(19, 'load', 1, [u32('keys', 7), u32('payloads', 1)], {
    mode: 'ifAbsent',
    writeId: 1,
  }),
  'insert of items that expire at a time, never, and by the ttl': ask(25, 'insert', 3, [
    u32('keys', 7, 42, 43),
    u32('payloads', 1, 2, 3),
    { name: 'expireAt', type: 'u64', values: ['1750000000000', '0', '18446744073709551615'] },
  ]),
  'load of the second part': ask(
    20,
    'load',
    1,
    [u32('keys', 8), u32('payloads', 2), { name: 'after', type: 'u64', values: ['1'] }],
    { mode: 'ifAbsent', writeId: 2 },
  ),
}

controlRequests['batch of an insert, conditions on another index, and rows'] = control(
  { id: 18, op: 'batch', writeId: 7 },
  ...[
    ask(0, 'insert', 1, [u32('keys', 7), u32('payloads', 1000)]),
    { ...(dataRequests[EXPECT] as GoldenData), id: 0, handle: 4 },
    control({ id: 0, op: 'append', relation: 'r', rows: 1, columns: ['id'] }, u32('0.values', 5)),
  ].map((part, i) => blob(String(i), Buffer.from(encodeGolden(part)).toString('hex'))),
)
controlRequests['batch that replica sets 0 and 2 have parts of'] = control(
  { id: 19, op: 'batch', writeId: 8, joint: { id: 'b1f0', sets: [0, 2] } },
  blob(
    '0',
    Buffer.from(encodeGolden(ask(0, 'insert', 1, [u32('keys', 7), u32('payloads', 1000)]))).toString('hex'),
  ),
)

const replies: Record<string, GoldenMessage> = {
  hello: control({
    ...{ id: 0, ok: true, server: '0.1.0', protocol: 2, adapter: { name: 'SwiftShader', software: true } },
    limits: {
      frameBytes: 67_108_864,
      batchItems: 1_048_576,
      scanEntries: 262_144,
      keyBytes: 4096,
      payloadBytes: 1_048_576,
    },
  }),
  cluster: control({
    ...{ id: 5, ok: true, name: 'main', set: 0, sets: 2 },
    nodes: [
      { set: 0, url: 'ws://a:7070', role: 'owner', position: 12 },
      { set: 1, url: 'ws://b:7070', role: 'following', position: 9 },
    ],
  }),
  position: control({ id: 20, ok: true, position: 12, role: 'following', behind: 180 }),
  handOver: control({ id: 21, ok: true, owner: 'ws://b:7070' }),
  open: control({ id: 1, ok: true, ...DEFINITION, handle: 3, generation: 1 }),
  createIndex: control({ id: 127, ok: true, definition: DEFINITION, created: true }),
  'an error': control({
    id: 6,
    ok: false,
    error: { code: 'INDEX_CHANGED', message: 'open the index again' },
  }),
  'an error that is about one of several things': control({
    ...{ id: 18, ok: false },
    error: { code: 'CONDITION_FAILED', message: 'it does not hold', item: 2 },
  }),
  'an error that names the node to ask': control({
    ...{ id: 18, ok: false },
    error: { code: 'NOT_OWNER', message: 'ask that one', owner: 'ws://10.0.0.2:7070' },
  }),
  'batch of an insert, and of three rows': control(
    { id: 18, ok: true, appended: [{ first: 5, rows: 3 }] },
    { name: 'codes', type: 'u8', values: [0] },
  ),
  'changeRows: two rows have new values': control({ id: 18, ok: true, changed: 2, first: 9 }),
  'an error of a frame that could not be read': control({
    id: null,
    ok: false,
    error: { code: 'BAD_REQUEST', message: 'no' },
  }),
  'get: the second key has the payload 1000': answer(
    5,
    'get',
    { name: 'found', type: 'u8', values: [2] },
    u32('payloads', 0, 1000),
  ),
  'get with sequence numbers': answer(
    7,
    'get',
    { name: 'found', type: 'u8', values: [2] },
    u32('payloads', 0, 1000),
    u32('sequences', 0, 3),
  ),
  'get of payloads of any length': answer(
    6,
    'get',
    { name: 'found', type: 'u8', values: [5] },
    bytes('payloads', hex('one'), '', hex('two')),
  ),
  'getAll: two payloads, and none': answer(LARGEST, 'getAll', u32('offsets', 0, 2, 2), u32('payloads', 1, 2)),
  count: answer(8, 'count', u32('counts', 0, 2)),
  getNext: answer(
    9,
    'getNext',
    { name: 'found', type: 'u8', values: [1] },
    u32('keys', 6, 0),
    u32('payloads', 60, 0),
    u32('sequences', 4, 0),
  ),
  'scan of two ranges, of which the first goes on': answer(
    11,
    'scan',
    u32('offsets', 0, 1, 2),
    u32('keys', 7, 42),
    u32('payloads', 1, 2),
    { name: 'more', type: 'u8', values: [1, 0] },
    blob('tokens', '07000000000000002a00000001000000'),
  ),
  'scan of strings': answer(
    12,
    'scan',
    u32('offsets', 0, 1, 1),
    bytes('keys', hex('abc')),
    u32('payloads', 1),
    { name: 'more', type: 'u8', values: [1, 0] },
    bytes('tokens', `${hex('abc')}00000000`, ''),
  ),
  'scan of keys only': answer(
    10,
    'scan',
    u32('offsets', 0, 1),
    u32('keys', 7),
    { name: 'more', type: 'u8', values: [0] },
    blob('tokens', '0700000000000000'),
  ),
  countRanges: answer(22, 'countRanges', { name: 'counts', type: 'u64', values: ['3', '4294967296'] }),
  'watch of one batch with two kinds of changes, one that came to nothing, and one with one kind': answer(
    24,
    'watch',
    { name: 'position', type: 'u64', values: ['9'] },
    u32('offsets', 0, 2, 2, 4),
    { name: 'ops', type: 'u8', values: [1, 3, 0], offsets: [0, 2, 2, 3] },
    u32('keys', 7, 8, 7, 9),
    u32('payloads', 1000, 0, 1, 2),
  ),
  'watch of payloads one of which expires': answer(
    24,
    'watch',
    { name: 'position', type: 'u64', values: ['10'] },
    u32('offsets', 0, 2),
    { name: 'ops', type: 'u8', values: [1], offsets: [0, 1] },
    u32('keys', 7, 8),
    u32('payloads', 1, 2),
    { name: 'expireAt', type: 'u64', values: ['0', '1790000000000'] },
  ),
  'watch of a deleted range without its end': answer(
    24,
    'watch',
    { name: 'position', type: 'u64', values: ['12'] },
    u32('offsets', 0, 0),
    { name: 'ops', type: 'u8', values: [10], offsets: [0, 1] },
    u32('keys'),
    u32('from', 7),
    u32('to', 42),
  ),
  'watch, when something has come': answer(25, 'watch', { name: 'position', type: 'u64', values: ['0'] }),
  deleteRange: answer(23, 'deleteRange', { name: 'counts', type: 'u64', values: ['5'] }),
  'explain, which is no data': control({
    ...{ id: 13, ok: true },
    explanation: {
      strategy: 'sequential',
      batch: 1,
      digits: 8,
      partitions: null,
      reason: 'no partitions',
      costs: [],
      tables: null,
    },
  }),
  insert: answer(14, 'insert', { name: 'codes', type: 'u8', values: [0, 2] }),
  delete: answer(16, 'delete', { name: 'codes', type: 'u8', values: [4] }),
  write: answer(18, 'write', { name: 'codes', type: 'u8', values: [0, 3, 4] }),
  'load: rows, inserted, replaced, existing, refused': answer(19, 'load', u32('counts', 5, 3, 0, 1, 1)),
}

const get = Buffer.from(encodeGolden(dataRequests.get!))
const write = Buffer.from(
  encodeGolden(dataRequests['write of an insert, a delete of a key and one of a pair']!),
)
const once = encodeGolden(dataRequests['delete of pairs, with write id 0']!)
const hello = Buffer.from(encodeGolden(controlRequests.hello!))
/** A frame with bytes from one place on in another way. */
const changed = (frame: Buffer, at: number, ...values: number[]) => {
  const other = Buffer.from(frame)
  other.set(values, at)
  return other
}
const headed = (...header: number[]) => Buffer.from([header.length, 0, 0, 0, ...header])

const refusals: Record<string, Uint8Array> = {
  nothing: Buffer.alloc(0),
  'a control frame without its header': hello.subarray(0, 10),
  'a header that is too long': Buffer.from(Uint32Array.of(LIMITS.headerBytes + 1).buffer),
  'a header that is no map': headed(0x91, 0x01),
  'a header with binary data': headed(0x81, 0xa2, 0x69, 0x64, 0xc4, 0x00),
  'a header without an id': Buffer.from(encodeFrame({ op: 'listIndexes' })),
  'an id that is no whole number': Buffer.from(encodeFrame({ id: 1.5, op: 'listIndexes' })),
  'an operation that is unknown': Buffer.from(encodeFrame({ id: 1, op: 'dance' })),
  'an operation on data, as a control frame': Buffer.from(encodeFrame({ id: 1, op: 'get', index: 'cities' })),
  'a field that is missing': Buffer.from(encodeFrame({ id: 1, op: 'open' })),
  'a field too many': Buffer.from(encodeFrame({ id: 1, op: 'open', index: 'a', indx: 'a' })),
  'a batch with a part that is none': Buffer.from(
    encodeFrame({ id: 1, op: 'batch' }, { 0: { type: 'bytes', bytes: get } }),
  ),
  'a batch with two parts for one index': Buffer.from(
    encodeFrame(
      { id: 1, op: 'batch' },
      { 0: { type: 'bytes', bytes: write }, 1: { type: 'bytes', bytes: write } },
    ),
  ),
  'a part of a batch with a write id': Buffer.from(
    encodeFrame({ id: 1, op: 'batch' }, { 0: { type: 'bytes', bytes: once } }),
  ),
  'a batch of replica sets in another order': Buffer.from(
    encodeFrame({ id: 1, op: 'batch', joint: { id: 'b1f0', sets: [2, 0] } }),
  ),
  'a head that is cut off': get.subarray(0, 47),
  'an id of 2^53': changed(get, 14, 0x20),
  'operation 0': changed(get, 4, 0),
  'operation 99': changed(get, 4, 99),
  'a resolution without a strategy': changed(get, 6, 1),
  'strategy 5': changed(get, 5, 5),
  'a flag that is unknown': changed(get, 25, 16),
  'the flag of a reply': changed(get, 24, 1),
  'insert mode 3': changed(write, 25, 3),
  'a limit of what has none': changed(get, 32, 1),
  'a write id of what is no write': changed(get, 24, 16),
  'a write id of 2^53': changed(
    write,
    24,
    16,
    0,
    0,
    0,
    3,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0x20,
  ),
  'no column keys': changed(get.subarray(0, 48), 7, 0),
  'a column of a kind that is kept': changed(get, 48, 32),
  'a column of a type that is unknown': changed(get, 49, 8),
  'bytes of an entry that must be zero': changed(get, 50, 1),
  'half an element': changed(get, 56, 7),
  'a column twice': changed(write, 48, 1),
  'a column the operation does not take': changed(write, 4, 1),
  'a column that ends after the frame': get.subarray(0, 68),
  'bytes behind the last column': Buffer.concat([get, Buffer.alloc(8)]),
}

function refusal([name, frame]: [string, Uint8Array]): object {
  try {
    readRequest(frame)
  } catch (error) {
    const { code } = toWarpdexError(error)
    return { name, hex: Buffer.from(frame).toString('hex'), id: refusedId(frame, error), code }
  }
  throw new Error(`${name} is read`)
}

function save(file: string, entries: readonly object[]): void {
  const url = new URL(`../../protocol/golden/${file}.json`, import.meta.url)
  writeFileSync(url, `${JSON.stringify(entries, null, 2)}\n`)
}

for (const [file, messages] of Object.entries({
  'control-requests': controlRequests,
  'data-requests': dataRequests,
  replies,
})) {
  save(
    file,
    Object.entries(messages).map(([name, message]) => ({
      name,
      hex: Buffer.from(encodeGolden(message)).toString('hex'),
      message,
    })),
  )
}
save('refused-requests', Object.entries(refusals).map(refusal))
