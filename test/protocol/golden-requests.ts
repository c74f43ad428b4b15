import type { GoldenData, GoldenMessage } from './golden.js'
import { appendOf, ask, blob, bytes, control, hex, LARGEST, part, scanOf, u32 } from './golden-builders.js'

const CREATE = { op: 'createIndex', index: 'cities', keyType: 'u32', payloadKind: 'u32' }

export const controlRequests: Record<string, GoldenMessage> = {
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
      placement: [{ set: 1 }, { set: 0, from: '00000007610000' }],
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
  'createRelation with copies on all replica sets': control({
    ...{ id: 3, op: 'createRelation', relation: 'r', spread: 'copies', ifNotExists: true },
    columns: [{ name: 'id', type: 'u64' }],
  }),
  dropRelation: control({ id: 4, op: 'dropRelation', relation: 'r' }),
  createRelationIndex: control({
    id: 5,
    op: 'createRelationIndex',
    relation: 'r',
    index: 'by id',
    columns: ['id'],
    spread: 'rows',
  }),
  listRelations: control({ id: 6, op: 'listRelations' }),
  append: control(
    {
      ...{ id: 7, op: 'append', relation: 'r', rows: 2, columns: ['id', 'name'] },
      ...{ spread: 'copies', writeId: LARGEST },
    },
    { name: '0.values', type: 'u64', values: ['7', '18446744073709551615'] },
    u32('1.values', 0, 0),
    { name: '1.validity', type: 'u8', values: [1] },
    blob('1.strings', hex('Köln')),
    u32('1.offsets', 0, 5),
  ),
  changeRows: control(
    {
      ...{ id: 18, op: 'changeRows', relation: 'r', lists: 1, spread: 'copies', writeId: 5 },
      where: { op: 'in', args: [{ column: 'id' }], lists: [0] },
      set: { name: { value: 'Köln' } },
    },
    { name: '0.values', type: 'i64', values: ['7', '8'] },
  ),
  readRelation: control({
    ...{ id: 8, op: 'readRelation', relation: 'r', columns: ['id'], from: 2, limit: 100 },
    ...{ numbering: 4, spread: 'rows' },
  }),
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
        input: scanOf('r'),
        condition: { op: 'in', args: [{ column: 'id' }, { value: 5 }], lists: [0] },
      },
    },
    { name: '0.values', type: 'i64', values: ['-9223372036854775808', '7'] },
  ),
  'query of a relation and a table, which is kept': control(
    {
      ...{ id: 22, op: 'query', query: { op: 'union', left: scanOf('r'), right: scanOf('mine') } },
      tables: [{ name: 'mine', columns: [{ name: 'id', type: 'u64' }], of: ['r'] }],
      spread: { r: 'rows' },
      keep: { name: 'both', seconds: 60 },
    },
    part('rows.0', appendOf('mine', '5')),
    part('rows.1', appendOf('mine', '6')),
  ),
  'query of a statement, for its tree': control({
    ...{ id: 23, op: 'query', plan: true, spread: { r: 'copies' } },
    sql: {
      text: 'select id from r where id > ?',
      parameters: [{ value: '9223372036854775808', type: 'u64' }],
    },
  }),
  queryNext: control({ id: 13, op: 'queryNext', cursor: 1 }),
  queryEnd: control({ id: 14, op: 'queryEnd', cursor: 1 }),
  cancel: control({ id: 15, op: 'cancel', target: 14 }),
}

const EXPECT = 'expect, which is a part of a batch: no payload, any, one and a sequence number'

export const dataRequests: Record<string, GoldenMessage> = {
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
  'scan with the times at which entries expire': ask(10, 'scan', 1, [], { limit: 100, withExpireAt: true }),
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
    appendOf('r', '5'),
  ].map((message, i) => part(String(i), message)),
)
controlRequests['batch that replica sets 0 and 2 have parts of'] = control(
  { id: 19, op: 'batch', writeId: 8, joint: { id: 'b1f0', sets: [0, 2] } },
  part('0', ask(0, 'insert', 1, [u32('keys', 7), u32('payloads', 1000)])),
)
