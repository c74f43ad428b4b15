import t from 'tap'
import { asBytes } from '../../protocol/columns.js'
import { decodeFrame, encodeFrame, type Section, type SectionType } from '../../protocol/frame.js'
import { requireKeys } from '../../protocol/key-sections.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Request } from '../../protocol/messages.js'
import { parseRequest } from '../../protocol/parse-request.js'
import { explainColumns, getNextColumns, scanColumns, writeColumns } from '../../protocol/request-columns.js'
import { rowsOf } from '../../protocol/rows.js'
import { TupleEncoder } from '../../protocol/tuple-key.js'
import { type IndexDefinition, WriteOp } from '../../protocol/types.js'

const numbers: IndexDefinition = { name: 'n', keyType: 'u32', payloadKind: 'fixed(3)', unique: false }
const blobs: IndexDefinition = { name: 'b', keyType: 'i64', payloadKind: 'bytes', unique: false }

function section(type: SectionType, data: number | ArrayBufferView): Section {
  return { type, bytes: typeof data === 'number' ? new Uint8Array(data) : asBytes(data) }
}

function parse<O extends Request['op']>(op: O, options: object, sections: Record<string, Section>) {
  const request = parseRequest(decodeFrame(encodeFrame({ id: 1, op, index: 'n', ...options }, sections)))
  return request as Extract<Request, { op: O }>
}

t.test('keys are of the index key type', async (t) => {
  t.equal(requireKeys({ keys: section('u32', 12) }, numbers).bytes.byteLength, 12)
  t.throws(() => requireKeys({ keys: section('f32', 12) }, numbers), {
    code: 'WRONG_KEY_TYPE',
    message: /"keys" is f32; the keys of index "n" are u32/,
  })
  t.throws(() => requireKeys({ keys: section('u32', 6) }, numbers), { code: 'BAD_REQUEST' })
  t.throws(() => requireKeys({ keys: section('u32', 4 * LIMITS.batchItems + 4) }, numbers), {
    code: 'TOO_LARGE',
  })
})

t.test('an explanation is of one key at least', async (t) => {
  const explain = (keys: Section) => explainColumns(parse('explain', {}, { keys }), numbers)
  t.equal(explain(section('u32', 8)).bytes.byteLength, 8)
  t.throws(() => explain(section('u32', 0)), { code: 'BAD_REQUEST', message: /needs a key at least/ })
  t.throws(() => explain(section('u32', 4 * LIMITS.batchItems + 4)), { code: 'TOO_LARGE' })
})

t.test('writes bring one payload an item', async (t) => {
  const keys = section('u32', Uint32Array.of(1, 2))
  const insert = parse('insert', { mode: 'ifAbsent' }, { keys, payloads: section('u8', 6) })
  t.match(writeColumns(insert, numbers), { ops: WriteOp.insertIfAbsent, payloads: { offsets: undefined } })
  t.equal(writeColumns(parse('delete', {}, { keys }), numbers).ops, WriteOp.deleteKey)
  const pairs = parse('delete', {}, { keys, payloads: section('u8', 6) })
  t.equal(writeColumns(pairs, numbers).ops, WriteOp.deletePair)
  const short = parse('insert', {}, { keys, payloads: section('u8', 5) })
  t.throws(() => writeColumns(short, numbers), { code: 'BAD_REQUEST', message: /has 5 bytes; 6 are needed/ })
  const offsets = section('u32', 12)
  const needless = parse('insert', {}, { keys, payloads: section('u8', 6), payloadOffsets: offsets })
  t.throws(() => writeColumns(needless, numbers), { message: /take no section "payloadOffsets"/ })
  t.throws(() => writeColumns(parse('delete', {}, { keys, payloadOffsets: offsets }), numbers), {
    message: /needs a section "payloads"/,
  })
})

t.test('a mixed write names a kind for each item', async (t) => {
  const keys = section('u32', Uint32Array.of(1, 2))
  const write = (ops: number[], payloads?: Section) =>
    writeColumns(
      parse('write', {}, { keys, ops: section('u8', Uint8Array.from(ops)), ...(payloads && { payloads }) }),
      numbers,
    )
  t.strictSame([...(write([0, 4], section('u8', 6)).ops as Uint8Array)], [0, 4])
  t.equal(write([3, 3]).payloads, undefined)
  t.throws(() => write([3, 0]), { message: /unless all of it is deleteKey/ })
  t.throws(() => write([5, 0], section('u8', 6)), { message: /5 is no kind of write/ })
  t.throws(() => write([0], section('u8', 6)), { message: /"ops" has 1 bytes; 2 are needed/ })
})

t.test('payloads of kind bytes are cut by ascending offsets', async (t) => {
  const insert = (offsets: number[] | undefined, bytes: number) => {
    const payloadOffsets = offsets && { payloadOffsets: section('u32', Uint32Array.from(offsets)) }
    const columns = { keys: section('i64', 16), payloads: section('bytes', bytes), ...payloadOffsets }
    return writeColumns(parse('insert', {}, columns), blobs).payloads
  }
  t.strictSame([...insert([0, 3, 3], 3)!.offsets!], [0, 3, 3])
  t.throws(() => insert(undefined, 3), { message: /need a section "payloadOffsets"/ })
  t.throws(() => insert([0, 3], 3), { message: /8 bytes; 12 are needed/ })
  t.throws(() => insert([1, 3, 3], 3), { message: /start with 0, not 1/ })
  t.throws(() => insert([0, 3, 2], 2), { message: /must not descend, as they do at 2/ })
  t.throws(() => insert([0, 3, 4], 3), { message: /end with 4; section "payloads" has 3 bytes/ })
  t.throws(() => insert([0, 0, LIMITS.payloadBytes + 1], LIMITS.payloadBytes + 1), { code: 'TOO_LARGE' })
})

t.test('scans have as many of each column as ranges', async (t) => {
  const scan = (sections: Record<string, Section>, limit = 10) =>
    scanColumns(parse('scan', { limit }, sections), numbers)
  t.match(scan({}), { ranges: 1, from: undefined, to: undefined, tokens: undefined })
  t.match(scan({ from: section('u32', 8), to: section('u32', 8) }), { ranges: 2 })
  t.match(scan({ to: section('u32', 12) }), { ranges: 3 })
  t.match(scan({ tokens: section('u8', 16) }), { ranges: 2 })
  t.match(scan({ from: section('u32', 0) }), { ranges: 0 })
  t.throws(() => scan({ from: section('u32', 8), to: section('u32', 4) }), { message: /"to" has 4 bytes; 8/ })
  t.throws(() => scan({ from: section('u32', 8), tokens: section('u8', 8) }), { message: /8 bytes; 16/ })
  t.throws(() => scan({ tokens: section('u8', 9) }), { message: /9 bytes; 8 are needed/ })
  t.throws(() => scan({ from: section('i32', 4) }), { code: 'WRONG_KEY_TYPE', message: /"from" is i32/ })
  t.throws(() => scan({ from: section('u32', 8) }, LIMITS.scanEntries), { code: 'TOO_LARGE' })
})

t.test('getNext continues at one sequence number a key', async (t) => {
  const next = (sections: Record<string, Section>) =>
    getNextColumns(parse('getNext', {}, { keys: section('u32', 8), ...sections }), numbers)
  t.match(next({}), { sequences: undefined })
  t.equal(next({ sequences: section('u32', 8) }).sequences?.byteLength, 8)
  t.throws(() => next({ sequences: section('u32', 4) }), { message: /4 bytes; 8 are needed/ })
})

const texts: IndexDefinition = { ...numbers, keyType: 'string' }
const raw: IndexDefinition = { ...numbers, keyType: 'bytes' }
const pairs: IndexDefinition = { ...numbers, keyType: 'tuple(u32,string)' }

/** Sections of keys of variable length. */
function rows(name: string, offsetsName: string, ...keys: (string | Uint8Array)[]): Record<string, Section> {
  const { bytes, offsets } = rowsOf(keys.map((key) => (typeof key === 'string' ? Buffer.from(key) : key)))
  return { [name]: section('bytes', bytes), [offsetsName]: section('u32', offsets) }
}

const keys = (...list: (string | Uint8Array)[]) => parse('count', {}, rows('keys', 'keyOffsets', ...list))

t.test('keys of variable length are cut by offsets', async (t) => {
  t.same(requireKeys(keys('a', '', 'bcd'), texts).offsets, Uint32Array.of(0, 1, 1, 4))
  t.same(requireKeys(keys(), raw).offsets, Uint32Array.of(0))
  t.throws(() => requireKeys({ keys: section('u32', 8) }, texts), {
    code: 'WRONG_KEY_TYPE',
    message: /"keys" is u32; the keys of index "n" are string, which are sent as bytes/,
  })
  t.throws(() => requireKeys(keys('a'), numbers), { code: 'WRONG_KEY_TYPE' })
  t.throws(() => requireKeys({ keys: section('bytes', 8) }, texts), {
    message: /need a section "keyOffsets"/,
  })
  t.throws(() => requireKeys({ keys: section('u32', 8), keyOffsets: section('u32', 12) }, numbers), {
    code: 'BAD_REQUEST',
    message: /u32 take no section "keyOffsets"/,
  })
  const cut = (...offsets: number[]) =>
    requireKeys({ keys: section('bytes', 3), keyOffsets: section('u32', Uint32Array.from(offsets)) }, raw)
  t.throws(() => cut(), { message: /"keyOffsets" has 0 bytes/ })
  t.throws(() => cut(1, 3), { message: /start with 0, not 1/ })
  t.throws(() => cut(0, 3, 2), { message: /must not descend, as they do at 2/ })
  t.throws(() => cut(0, 2), { message: /end with 2; section "keys" has 3 bytes/ })
  t.throws(() => cut(0, 4), { message: /end with 4/ })
  const longest = new Uint8Array(LIMITS.keyBytes)
  t.ok(requireKeys(keys('', longest), raw))
  t.throws(() => requireKeys(keys('', new Uint8Array(LIMITS.keyBytes + 1)), raw), {
    code: 'TOO_LARGE',
    message: /key 1 has 4097 bytes; 4096 are allowed/,
  })
  const many = section('u32', 4 * (LIMITS.batchItems + 2))
  t.throws(() => requireKeys({ keys: section('bytes', 0), keyOffsets: many }, raw), { code: 'TOO_LARGE' })
})

t.test('strings are UTF-8, each by itself', async (t) => {
  t.ok(requireKeys(keys('', 'é', '\0', '🜁'), texts))
  t.throws(() => requireKeys(keys('a', Uint8Array.of(0xff)), texts), {
    code: 'BAD_REQUEST',
    message: /key 1 is no string: its bytes are no UTF-8/,
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
  const { bytes } = encoder.rows()
  t.ok(requireKeys(keys(bytes, bytes), pairs))
  t.throws(() => requireKeys(keys(bytes, bytes.subarray(0, -1)), pairs), {
    code: 'BAD_REQUEST',
    message: /key 1 is no tuple\(u32,string\): part 1/,
  })
})

t.test('ends of ranges of variable length may be any bytes', async (t) => {
  const scan = (sections: Record<string, Section>, definition = texts, limit = 10) =>
    scanColumns(parse('scan', { limit }, sections), definition)
  const from = rows('from', 'fromOffsets', 'a', Uint8Array.of(0xff))
  const to = rows('to', 'toOffsets', 'b', '')
  t.match(scan({ ...from, ...to }, pairs), { ranges: 2, toOffsets: Uint32Array.of(0, 1, 1) })
  t.match(scan(to), { ranges: 2, from: undefined, fromOffsets: undefined })
  const tokens = rows('tokens', 'tokenOffsets', '\0\0\0\0', 'ab\0\0\0\0')
  t.match(scan(tokens), { ranges: 2, tokenOffsets: Uint32Array.of(0, 4, 10) })
  t.match(scan({ ...from, ...tokens }), { ranges: 2 })
  t.throws(() => scan({ ...from, ...rows('to', 'toOffsets', 'b') }), {
    message: /"to" has 1 rows; 2 are needed/,
  })
  t.throws(() => scan({ ...from, ...rows('tokens', 'tokenOffsets', 'abcd') }), {
    message: /"tokens" has 1 rows/,
  })
  t.throws(() => scan(rows('tokens', 'tokenOffsets', 'abcd', 'abc')), {
    code: 'BAD_REQUEST',
    message: /token 1 has 3 bytes; it needs 4/,
  })
  t.throws(() => scan({ fromOffsets: from.fromOffsets }), { message: /"fromOffsets" needs a section "from"/ })
  t.throws(() => scan({ tokens: section('bytes', 8) }), { message: /need a section "tokenOffsets"/ })
  t.throws(() => scan(from, texts, LIMITS.scanEntries), { code: 'TOO_LARGE' })
})
