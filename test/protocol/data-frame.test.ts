import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { asBytes } from '../../protocol/columns.js'
import {
  decodeDataReply,
  decodeDataRequest,
  encodeDataReply,
  encodeDataRequest,
  numberIn,
} from '../../protocol/data-frame.js'
import {
  COLUMNS,
  type ColumnName,
  DATA_OPS,
  type DataReply,
  type DataRequest,
  OPERATIONS,
  type WireColumn,
  type WireColumns,
  wireColumn,
} from '../../protocol/data-request.js'
import { encodeFrame, FrameError, SECTION_TYPES, sectionElementBytes } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import { readRequest } from '../../protocol/messages.js'
import { TRAVERSALS } from '../../protocol/traversal.js'
import { INSERT_MODES } from '../../protocol/types.js'
import { seedOfRun } from '../random.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const whole = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1))
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

const column = fc
  .tuple(fc.constantFrom(...SECTION_TYPES), fc.nat(20), fc.option(fc.integer({ min: 1, max: 9 })))
  .chain(([type, count, cuts]) =>
    fc.record({
      type: fc.constant(type),
      bytes: bytes(count * sectionElementBytes(type)),
      ...(cuts !== null && { offsets: bytes(4 * cuts) }),
    }),
  ) as fc.Arbitrary<WireColumn>

function columnsOf(needs: readonly ColumnName[], may: readonly ColumnName[]): fc.Arbitrary<WireColumns> {
  const all = Object.fromEntries([...needs, ...may].map((name) => [name, column]))
  return fc.record(all, { requiredKeys: [...needs], noNullPrototype: true })
}

const options = {
  limit: u32,
  reverse: fc.boolean(),
  fromExclusive: fc.boolean(),
  toExclusive: fc.boolean(),
  withoutKeys: fc.boolean(),
  withoutPayloads: fc.boolean(),
  withExpireAt: fc.boolean(),
  withSequences: fc.boolean(),
  mode: fc.constantFrom(...INSERT_MODES),
  traversal: fc.option(fc.constantFrom(...TRAVERSALS), { nil: undefined }),
  writeId: fc.option(whole, { nil: undefined }),
  version: fc.option(whole, { nil: undefined }),
  opensVersion: fc.boolean(),
  position: fc.option(whole, { nil: undefined }),
  deadline: u32,
}

const someRequest: fc.Arbitrary<DataRequest> = fc.constantFrom(...DATA_OPS).chain((op) => {
  const { needs, may, options: takes } = OPERATIONS[op]
  const own = Object.fromEntries(takes.map((name) => [name, options[name]]))
  return fc
    .record({
      id: whole,
      op: fc.constant(op),
      handle: u32,
      generation: u32,
      count: u32,
      deadline: options.deadline,
      ...own,
      columns: columnsOf(needs, may),
    })
    .map(withOneNumber) as fc.Arbitrary<DataRequest>
})

/** The number of a request's head is of one thing only. */
function withOneNumber<T extends object>(request: T): T {
  const { position } = request as Partial<DataRequest>
  return position === undefined ? request : { ...request, version: undefined }
}

const someReply: fc.Arbitrary<DataReply> = fc.record({
  id: whole,
  op: fc.constantFrom(...DATA_OPS),
  columns: columnsOf([], COLUMNS),
})

/** At some place of a larger piece of memory. */
function moved(frame: Uint8Array, by: number): Uint8Array {
  const memory = new Uint8Array(frame.length + by + 5).fill(0xcd)
  memory.set(frame, by)
  return memory.subarray(by, by + frame.length)
}

const entriesOf = (columns: WireColumns) => Object.entries(columns) as [ColumnName, WireColumn][]

const plain = (columns: WireColumns) =>
  entriesOf(columns).map(([name, { type, bytes, offsets }]) => [
    name,
    type,
    [...bytes],
    offsets && [...offsets],
  ])

function checkColumns(found: WireColumns, wanted: WireColumns, frame: Uint8Array): void {
  assert.deepEqual(plain(found), plain(wanted))
  for (const { bytes, offsets } of entriesOf(found).map(([, column]) => column)) {
    for (const part of [bytes, offsets]) {
      if (part === undefined) continue
      assert.equal(part.buffer, frame.buffer, 'a view')
      assert.equal((part.byteOffset - frame.byteOffset) % 8, 0, 'at a multiple of 8')
    }
  }
}

t.test('a request comes back as it went in, at any alignment of its memory', async () => {
  fc.assert(
    fc.property(someRequest, fc.nat(7), (request, by) => {
      const frame = moved(encodeDataRequest(request), by)
      const { columns, ...found } = decodeDataRequest(frame)
      checkColumns(columns, request.columns, frame)
      const left = { withSequences: false, withoutKeys: false, withoutPayloads: false, opensVersion: false }
      const flags = { reverse: false, fromExclusive: false, toExclusive: false, withExpireAt: false, ...left }
      const defaults = { limit: 0, ...flags, mode: 'append' }
      const { columns: _, ...wanted } = request
      // What is absent and what is undefined are the same.
      assert.deepEqual(
        JSON.parse(JSON.stringify(found)),
        JSON.parse(JSON.stringify({ ...defaults, ...wanted })),
      )
    }),
    { numRuns: 1000, seed },
  )
})

t.test('a reply comes back as it went in', async () => {
  fc.assert(
    fc.property(someReply, fc.nat(7), (reply, by) => {
      const pieces = encodeDataReply(reply)
      assert.equal(pieces.length, 1)
      const frame = moved(pieces[0]!, by)
      const { id, op, columns } = decodeDataReply(frame)
      assert.deepEqual([id, op], [reply.id, reply.op])
      checkColumns(columns, reply.columns, frame)
    }),
    { numRuns: 1000, seed },
  )
})

t.test('the columns of a large reply are not copied', (t) => {
  const keys = { type: 'bytes', bytes: new Uint8Array(100_003).fill(7), offsets: new Uint8Array(12) } as const
  const more = { type: 'u8', bytes: Uint8Array.of(1) } as const
  const pieces = encodeDataReply({ id: 2 ** 53 - 1, op: 'scan', columns: { keys, more } })
  t.ok(pieces.includes(keys.bytes))
  const { id, columns } = decodeDataReply(Buffer.concat(pieces))
  t.equal(id, 2 ** 53 - 1)
  t.same(plain(columns), plain({ keys, more }))
  t.end()
})

const keys = wireColumn('u32', Uint32Array.of(7, 42))
const get: DataRequest = { id: 5, op: 'get', handle: 3, generation: 1, count: 2, columns: { keys } }

/** The frame of a get of two keys, or of another request, with some bytes of it changed. */
function changed(changes: Readonly<Record<number, number>>, request: DataRequest = get): Uint8Array {
  const frame = encodeDataRequest(request)
  for (const [at, byte] of Object.entries(changes)) frame[Number(at)] = byte
  return frame
}

function failure(read: () => unknown): FrameError {
  try {
    read()
  } catch (error) {
    if (error instanceof FrameError) return error
    throw error
  }
  throw new Error('it was read')
}

t.test('what is wrong with a request is said, with its id where that can be read', (t) => {
  const write = {
    ...get,
    op: 'write',
    columns: { keys, ops: wireColumn('u8', Uint8Array.of(3, 3)) },
  } as const
  const scan = { ...get, op: 'scan', limit: 3, columns: {} } as const
  const cut = encodeDataRequest(get)
  const cases: readonly (readonly [what: string, Uint8Array, id: number | null, RegExp])[] = [
    ['a head that is cut off', cut.subarray(0, 47), null, /a frame of 47 bytes has no head of 48/],
    ['an id of 2^53', changed({ 14: 0x20 }), null, /the id must be below 2\^53/],
    ['no operation', changed({ 4: 0 }), 5, /operation 0 is unknown; they are 1 to 14/],
    ['operation 99', changed({ 4: 99 }), 5, /operation 99 is unknown/],
    ['flag 4096', changed({ 25: 16 }), 5, /flags 4096 are unknown/],
    ['the highest flag', changed({ 27: 128 }), 5, /flags 2147483648 are unknown/],
    ['the flag of a reply', changed({ 24: 1 }), 5, /a request has the flag of a reply/],
    ['mode 3', changed({ 25: 3 }), 5, /insert mode 3 is unknown; they are append, replace, ifAbsent/],
    ['strategy 5', changed({ 5: 5 }), 5, /no strategy 5 with resolution 0/],
    ['a resolution alone', changed({ 6: 1 }), 5, /no strategy 0 with resolution 1/],
    ['resolution 3', changed({ 5: 2, 6: 3 }), 5, /no strategy 2 with resolution 3/],
    ['a sequential one with a resolution', changed({ 5: 1, 6: 1 }), 5, /strategy 1 with resolution 1/],
    ['a write id of 2^53', changed({ 24: 16, 46: 0x20 }, write), 5, /the write id must be below 2\^53/],
    ['more entries than bytes', changed({ 7: 255 }), 5, /255 columns have entries up to 3108/],
    ['kind 0', changed({ 48: 0 }), 5, /a column of kind 0 is unknown/],
    ['a kind that is kept', changed({ 48: 32 }), 5, /a column of kind 32 is unknown/],
    ['type 8', changed({ 49: 8 }), 5, /column "keys" has no type/],
    ['something behind the type', changed({ 50: 1 }), 5, /column "keys" has no type/],
    ['a column twice', changed({ 60: 1 }, write), 5, /column "keys" is there twice/],
    ['half an element', changed({ 56: 7 }), 5, /the lengths of column "keys" are not multiples/],
    ['half an offset', changed({ 52: 2 }), 5, /the lengths of column "keys" are not multiples/],
    [
      'a column that is cut off',
      cut.subarray(0, 68),
      5,
      /column "keys" ends at 72, after the frame's 68 bytes/,
    ],
    ['lengths past 2^31', changed({ 55: 0xfc, 59: 0xfc }), 5, /column "keys" ends at \d+, after/],
    [
      'bytes behind the columns',
      Buffer.concat([cut, new Uint8Array(8)]),
      5,
      /80 bytes; its columns end at 72/,
    ],
    ['no column that is needed', changed({}, { ...get, columns: {} }), 5, /get needs a column "keys"/],
    ['no ops', changed({}, { ...write, columns: { keys } }), 5, /write needs a column "ops"/],
    [
      'a column too many',
      changed({}, { ...get, columns: { keys, payloads: keys } }),
      5,
      /get takes no column "payloads"; its columns are keys/,
    ],
    ['a limit', changed({ 32: 1 }), 5, /get takes no limit/],
    ['an order', changed({ 24: 2 }), 5, /get takes no reverse/],
    ['an open end', changed({ 24: 4 }), 5, /get takes no fromExclusive/],
    ['another open end', changed({ 24: 8 }), 5, /get takes no toExclusive/],
    ['a write id', changed({ 24: 16, 40: 9 }), 5, /get takes no writeId/],
    ['a write id of 0', changed({ 24: 16 }), 5, /get takes no writeId/],
    ['a mode', changed({ 25: 1 }), 5, /get takes no mode/],
    ['a traversal', changed({ 5: 1 }, scan), 5, /scan takes no traversal/],
  ]
  for (const [what, frame, id, message] of cases) {
    t.match(
      failure(() => decodeDataRequest(frame)),
      { code: 'BAD_REQUEST', id, message },
      what,
    )
  }
  const long = new Uint8Array(LIMITS.frameBytes + 1)
  t.match(
    failure(() => decodeDataRequest(long)),
    { code: 'TOO_LARGE', id: null },
  )
  t.match(
    failure(() => decodeDataReply(cut)),
    { code: 'BAD_REQUEST', id: 5, message: /a reply lacks its flag/ },
  )
  t.end()
})

t.test('a frame may end with its last column, or at the next multiple of 8', (t) => {
  const ops = wireColumn('u8', Uint8Array.of(3, 3))
  const frame = encodeDataRequest({ ...get, op: 'write', columns: { keys, ops } })
  t.equal(frame.length, 72 + 8 + 2)
  const padded = Buffer.concat([frame, new Uint8Array(6)])
  t.same(plain(decodeDataRequest(padded).columns), plain({ keys, ops }))
  for (const more of [1, 5, 7]) {
    const odd = Buffer.concat([frame, new Uint8Array(more)])
    t.match(
      failure(() => decodeDataRequest(odd)),
      { message: /its columns end at 82/ },
    )
  }
  t.end()
})

t.test('what is too large is not made', (t) => {
  const half = { type: 'bytes', bytes: new Uint8Array(LIMITS.frameBytes / 2) } as const
  const columns = { keys: half, payloads: half }
  t.throws(() => encodeDataRequest({ ...get, op: 'insert', columns }), { code: 'TOO_LARGE' })
  t.throws(() => encodeDataReply({ id: 1, op: 'scan', columns }), { code: 'TOO_LARGE' })
  // So large that 32 bits do not count them; nobody needs the memory to be there.
  const huge = { type: 'bytes', bytes: { byteLength: 2 ** 31 } as Uint8Array } as const
  const beyond = { keys: huge, payloads: huge, from: huge, to: huge }
  t.throws(() => encodeDataReply({ id: 1, op: 'scan', columns: beyond }), { code: 'TOO_LARGE' })
  t.end()
})

t.test('a column of one number', (t) => {
  for (const number of [0, 2 ** 32, 2 ** 53 - 1]) {
    t.equal(numberIn(wireColumn('u64', BigUint64Array.of(BigInt(number))), 'after'), number)
  }
  for (const numbers of [[], [1n, 2n], [2n ** 53n]]) {
    t.throws(() => numberIn(wireColumn('u64', BigUint64Array.from(numbers)), 'after'), {
      code: 'BAD_REQUEST',
      message: /column "after" is one u64 below 2\^53/,
    })
  }
  t.end()
})

t.test('requests of both kinds are told apart', (t) => {
  t.match(readRequest(encodeDataRequest(get)), { id: 5, op: 'get', handle: 3, generation: 1, count: 2 })
  const open = encodeFrame({ id: 6, op: 'open', index: 'a' })
  t.same(readRequest(open), { id: 6, op: 'open', index: 'a' })
  for (const length of [0, 1, 3]) {
    const message = /has no header length/
    t.match(
      failure(() => readRequest(new Uint8Array(length))),
      { code: 'BAD_REQUEST', id: null, message },
    )
  }
  t.match(
    failure(() => readRequest(new Uint8Array(4))),
    { message: /a frame of 4 bytes has no head/ },
  )
  t.match(
    failure(() => readRequest(asBytes(Uint32Array.of(1, 2)))),
    { id: null },
  )
  t.end()
})

/** Whatever it is, it is read or refused. @returns whether it was read */
function isRead(frame: Uint8Array): boolean {
  let read = 0
  for (const decode of [decodeDataRequest, decodeDataReply]) {
    try {
      decode(frame)
      read++
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
    }
  }
  return read > 0
}

t.test('damaged frames fail with a code and nothing else', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
      isRead(noise)
      if (noise.length >= 4) isRead(noise.fill(0, 0, 4))
    }),
    { numRuns: 3000, seed },
  )
  let read = 0
  let refused = 0
  const flips = fc.array(fc.tuple(fc.maxSafeNat(), fc.nat(7)), { maxLength: 4 })
  fc.assert(
    fc.property(
      fc.oneof(
        someRequest.map(encodeDataRequest),
        someReply.map((reply) => encodeDataReply(reply)[0]!),
      ),
      flips,
      fc.nat(3),
      (frame, bits, cut) => {
        for (const [at, bit] of bits) frame[at % frame.length]! ^= 1 << bit
        if (isRead(cut === 0 ? frame.subarray(0, -1) : frame)) read++
        else refused++
      },
    ),
    { numRuns: 5000, seed },
  )
  t.ok(read > 500 && refused > 500, `${read} were read, ${refused} refused`)
  const whole = encodeDataRequest(get)
  for (let end = 0; end < whole.length; end++) failure(() => decodeDataRequest(whole.subarray(0, end)))
})
