import t from 'tap'
import { asBytes, columnOf } from '../../protocol/columns.js'
import type { DataOp, DataRequest, WireColumn, WireColumns } from '../../protocol/data-request.js'
import type { SectionType } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import {
  explainColumns,
  getNextColumns,
  requestKeys,
  requireKeys,
  scanColumns,
  writeColumns,
} from '../../protocol/request-columns.js'
import { TupleEncoder } from '../../protocol/tuple-key.js'
import { type IndexDefinition, WriteOp } from '../../protocol/types.js'

const numbers: IndexDefinition = { name: 'n', keyType: 'u32', payloadKind: 'fixed(3)', unique: false }
const blobs: IndexDefinition = { name: 'b', keyType: 'i64', payloadKind: 'bytes', unique: false }

function column(type: SectionType, data: number | ArrayBufferView, cuts?: readonly number[]): WireColumn {
  const bytes = typeof data === 'number' ? new Uint8Array(data) : asBytes(data)
  return cuts === undefined ? { type, bytes } : { type, bytes, offsets: asBytes(Uint32Array.from(cuts)) }
}

/** Two keys, ranges or items unless it says otherwise. */
function request(op: DataOp, columns: WireColumns, more: Partial<DataRequest> = {}): DataRequest {
  return { id: 1, op, handle: 1, generation: 1, count: 2, columns, ...more }
}

t.test('keys are of the index key type', async (t) => {
  t.equal(requireKeys({ keys: column('u32', 12) }, numbers).bytes.byteLength, 12)
  t.throws(() => requireKeys({ keys: column('f32', 12) }, numbers), {
    code: 'WRONG_KEY_TYPE',
    message: /"keys" is f32; the keys of index "n" are u32/,
  })
  t.throws(() => requireKeys({ keys: column('u32', 6) }, numbers), { code: 'BAD_REQUEST' })
  t.throws(() => requireKeys({ keys: column('u32', 4 * LIMITS.batchItems + 4) }, numbers), {
    code: 'TOO_LARGE',
  })
  t.throws(() => requireKeys({}, numbers), { code: 'BAD_REQUEST', message: /"keys" is needed/ })
})

t.test('the head says how many there are', async (t) => {
  const keys = column('u32', 12)
  const message = /count says that it has 2 keys; its columns have 3/
  t.throws(() => requestKeys(request('count', { keys }), numbers), { code: 'BAD_REQUEST', message })
  t.ok(requestKeys(request('count', { keys }, { count: 3 }), numbers))
  const ranges = /scan says that it has 2 ranges; its columns have 3/
  t.throws(() => scanColumns(request('scan', { from: keys }, { limit: 1 }), numbers), { message: ranges })
  const texts = { keys: column('bytes', 3, [0, 1, 3]) }
  t.ok(requestKeys(request('get', texts), { ...numbers, keyType: 'string' }))
  t.throws(() => requestKeys(request('get', texts, { count: 3 }), { ...numbers, keyType: 'string' }), {
    message: /get says that it has 3 keys; its columns have 2/,
  })
})

t.test('an explanation is of one key at least', async (t) => {
  const explain = (keys: WireColumn, count: number) =>
    explainColumns(request('explain', { keys }, { count }), numbers)
  t.equal(explain(column('u32', 8), 2).bytes.byteLength, 8)
  t.throws(() => explain(column('u32', 0), 0), { code: 'BAD_REQUEST', message: /needs at least one key/ })
  const many = LIMITS.batchItems + 1
  t.throws(() => explain(column('u32', 4 * many), many), { code: 'TOO_LARGE' })
})

t.test('writes bring one payload an item', async (t) => {
  const keys = column('u32', Uint32Array.of(1, 2))
  const insert = request('insert', { keys, payloads: column('u8', 6) }, { mode: 'ifAbsent' })
  t.match(writeColumns(insert, numbers), { ops: WriteOp.insertIfAbsent, payloads: { offsets: undefined } })
  t.equal(writeColumns({ ...insert, mode: undefined }, numbers).ops, WriteOp.insert)
  t.equal(writeColumns(request('delete', { keys }), numbers).ops, WriteOp.deleteKey)
  const pairs = request('delete', { keys, payloads: column('u8', 6) })
  t.equal(writeColumns(pairs, numbers).ops, WriteOp.deletePair)
  const short = request('insert', { keys, payloads: column('u8', 5) })
  t.throws(() => writeColumns(short, numbers), { code: 'BAD_REQUEST', message: /has 5 bytes; 6 are needed/ })
  const needless = request('insert', { keys, payloads: column('u8', 6, [0, 3, 6]) })
  t.throws(() => writeColumns(needless, numbers), { message: /fixed\(3\) payloads, which take no offsets/ })
})

t.test('a mixed write names a kind for each item', async (t) => {
  const keys = column('u32', Uint32Array.of(1, 2))
  const write = (ops: number[], payloads?: WireColumn) =>
    writeColumns(request('write', { keys, ops: column('u8', Uint8Array.from(ops)), payloads }), numbers)
  t.strictSame([...(write([0, 4], column('u8', 6)).ops as Uint8Array)], [0, 4])
  t.equal(write([3, 3]).payloads, undefined)
  t.throws(() => write([3, 0]), { message: /unless all of it is deleteKey/ })
  t.throws(() => write([5, 0], column('u8', 6)), { message: /5 is not a kind of write/ })
  t.throws(() => write([0], column('u8', 6)), { message: /"ops" has 1 bytes; 2 are needed/ })
})

t.test('payloads of kind bytes are cut by ascending offsets', async (t) => {
  const insert = (offsets: number[] | undefined, bytes: number) => {
    const columns = { keys: column('i64', 16), payloads: column('bytes', bytes, offsets) }
    return writeColumns(request('insert', columns), blobs).payloads
  }
  t.strictSame([...insert([0, 3, 3], 3)!.offsets!], [0, 3, 3])
  t.throws(() => insert(undefined, 3), { message: /payloads of kind bytes, which need offsets/ })
  t.throws(() => insert([0, 3], 3), { message: /"payloads" has 1 rows; 2 are needed, one an item/ })
  t.throws(() => insert([1, 3, 3], 3), { message: /start with 0, not 1/ })
  t.throws(() => insert([0, 3, 2], 2), { message: /must not descend, as they do at 2/ })
  t.throws(() => insert([0, 3, 4], 3), { message: /end with 4; its values have 3 bytes/ })
  t.throws(() => insert([0, 0, LIMITS.payloadBytes + 1], LIMITS.payloadBytes + 1), { code: 'TOO_LARGE' })
})

t.test('scans have as many of each column as ranges', async (t) => {
  const scan = (columns: WireColumns, count = 2, limit = 10) =>
    scanColumns(request('scan', columns, { count, limit }), numbers)
  t.match(scan({}, 1), { ranges: 1, from: undefined, to: undefined, tokens: undefined })
  t.match(scan({ from: column('u32', 8), to: column('u32', 8) }), { ranges: 2 })
  t.match(scan({ to: column('u32', 12) }, 3), { ranges: 3 })
  t.match(scan({ tokens: column('u8', 16) }), { ranges: 2 })
  t.match(scan({ from: column('u32', 0) }, 0), { ranges: 0 })
  t.throws(() => scan({ from: column('u32', 8), to: column('u32', 4) }), { message: /"to" has 4 bytes; 8/ })
  t.throws(() => scan({ from: column('u32', 8), tokens: column('u8', 8) }), { message: /8 bytes; 16/ })
  t.throws(() => scan({ tokens: column('u8', 9) }, 1), { message: /9 bytes; 8 are needed/ })
  t.throws(() => scan({ from: column('i32', 4) }), { code: 'WRONG_KEY_TYPE', message: /"from" is i32/ })
  t.throws(() => scan({ from: column('u32', 8) }, 2, LIMITS.scanEntries), { code: 'TOO_LARGE' })
  for (const limit of [0, LIMITS.scanEntries + 1]) {
    t.throws(() => scan({}, 1, limit), { code: 'BAD_REQUEST', message: /a limit from 1 to 262144, not/ })
  }
})

t.test('getNext continues at one sequence number a key', async (t) => {
  const next = (columns: WireColumns) =>
    getNextColumns(request('getNext', { keys: column('u32', 8), ...columns }), numbers)
  t.match(next({}), { sequences: undefined })
  t.equal(next({ sequences: column('u32', 8) }).sequences?.bytes.byteLength, 8)
  t.throws(() => next({ sequences: column('u32', 4) }), { message: /4 bytes; 8 are needed/ })
})

const texts: IndexDefinition = { name: 't', keyType: 'string', payloadKind: 'u32', unique: false }
const raw: IndexDefinition = { name: 'r', keyType: 'bytes', payloadKind: 'u32', unique: false }
const pairs: IndexDefinition = { name: 'p', keyType: 'tuple(u32,string)', payloadKind: 'u32', unique: false }

/** Rows of any length as they travel. */
function rows(...values: readonly (string | Uint8Array)[]): WireColumn {
  const { bytes, offsets } = columnOf(
    values.map((value) => (typeof value === 'string' ? Buffer.from(value) : value)),
  )
  return column('bytes', bytes, [...offsets])
}

const keys = (...values: readonly (string | Uint8Array)[]) => ({ keys: rows(...values) })

t.test('keys of variable length are bytes, cut by offsets', async (t) => {
  t.match(requireKeys(keys('', 'ab'), texts), { offsets: Uint32Array.of(0, 0, 2) })
  t.throws(() => requireKeys({ keys: column('u32', 8) }, texts), {
    code: 'WRONG_KEY_TYPE',
    message: /"keys" is u32; the keys of index "t" are string, which are sent as bytes/,
  })
  t.throws(() => requireKeys(keys('a'), numbers), { code: 'WRONG_KEY_TYPE' })
  t.throws(() => requireKeys({ keys: column('bytes', 8) }, texts), {
    message: /column "keys" needs offsets: keys are of type string/,
  })
  t.throws(() => requireKeys({ keys: column('u32', 8, [0, 4, 8]) }, numbers), {
    code: 'BAD_REQUEST',
    message: /column "keys" takes no offsets: keys are of type u32/,
  })
  const cut = (...offsets: number[]) => requireKeys({ keys: column('bytes', 3, offsets) }, raw)
  t.throws(() => cut(), { message: /the offsets of column "keys" have 0 bytes/ })
  t.throws(() => cut(1, 3), { message: /start with 0, not 1/ })
  t.throws(() => cut(0, 3, 2), { message: /must not descend, as they do at 2/ })
  t.throws(() => cut(0, 2), { message: /end with 2; its values have 3 bytes/ })
  t.throws(() => cut(0, 4), { message: /end with 4/ })
  const longest = new Uint8Array(LIMITS.keyBytes)
  t.ok(requireKeys(keys('', longest), raw))
  t.throws(() => requireKeys(keys('', new Uint8Array(LIMITS.keyBytes + 1)), raw), {
    code: 'TOO_LARGE',
    message: /key 1 has 4097 bytes; 4096 are allowed/,
  })
  const many = {
    type: 'bytes' as const,
    bytes: new Uint8Array(),
    offsets: new Uint8Array(4 * (LIMITS.batchItems + 2)),
  }
  t.throws(() => requireKeys({ keys: many }, raw), { code: 'TOO_LARGE' })
})

t.test('strings are UTF-8, each by itself', async (t) => {
  t.ok(requireKeys(keys('', 'é', '\0', '🜁'), texts))
  t.throws(() => requireKeys(keys('a', Uint8Array.of(0xff)), texts), {
    code: 'BAD_REQUEST',
    message: /key 1 is not of type string: its bytes are not UTF-8/,
  })
  t.throws(() => requireKeys(keys('a', Uint8Array.of(0xc3), Uint8Array.of(0xa9)), texts), {
    message: /key 1/,
  })
  t.throws(() => requireKeys(keys(Uint8Array.of(0xed, 0xa0, 0x80)), texts), { message: /key 0/ })
  t.ok(requireKeys(keys(Uint8Array.of(0xff)), raw))
})

t.test('tuples are whole', async (t) => {
  const encoder = new TupleEncoder(['u32', 'string'])
  encoder.add([7, 'ab'])
  const { bytes } = encoder.column()
  t.ok(requireKeys(keys(bytes, bytes), pairs))
  t.throws(() => requireKeys(keys(bytes, bytes.subarray(0, -1)), pairs), {
    code: 'BAD_REQUEST',
    message: /key 1 is not of type tuple\(u32,string\): part 1/,
  })
})

t.test('ends of ranges of variable length may be any bytes', async (t) => {
  const scan = (columns: WireColumns, definition = texts, limit = 10) =>
    scanColumns(request('scan', columns, { limit }), definition)
  const from = rows('a', Uint8Array.of(0xff))
  const to = rows('b', '')
  t.match(scan({ from, to }, pairs), { ranges: 2, to: { offsets: Uint32Array.of(0, 1, 1) } })
  t.match(scan({ to }), { ranges: 2, from: undefined })
  const tokens = rows('\0\0\0\0', 'ab\0\0\0\0')
  t.match(scan({ tokens }), { ranges: 2, tokens: { offsets: Uint32Array.of(0, 4, 10) } })
  t.match(scan({ from, tokens }), { ranges: 2 })
  t.throws(() => scan({ from, to: rows('b') }), { message: /"to" has 1 rows; 2 are needed/ })
  t.throws(() => scan({ from, tokens: rows('abcd') }), { message: /"tokens" has 1 rows/ })
  t.throws(() => scan({ tokens: rows('abcd', 'abc') }), {
    code: 'BAD_REQUEST',
    message: /token 1 has 3 bytes; it needs 4/,
  })
  t.throws(() => scan({ tokens: column('bytes', 8) }), { message: /column "tokens" needs offsets/ })
  t.throws(() => scan({ from }, texts, LIMITS.scanEntries), { code: 'TOO_LARGE' })
})
