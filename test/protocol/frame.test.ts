import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Packr } from 'msgpackr'
import t from 'tap'
import { aligned, asBytes } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import {
  decodeFrame,
  encodeFrame,
  FrameError,
  SECTION_TYPES,
  type Section,
  sectionElementBytes,
} from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import { seedOfRun } from '../random.js'

const packr = new Packr({ useRecords: false })

/** A frame as another implementation would write it. */
function handMade(header: unknown, tail = new Uint8Array()): Uint8Array {
  return raw(header instanceof Uint8Array ? header : packr.pack(header), tail)
}

function raw(header: Uint8Array, tail = new Uint8Array()): Uint8Array {
  const frame = new Uint8Array(4 + header.length + tail.length)
  new DataView(frame.buffer).setUint32(0, header.length, true)
  frame.set(header, 4)
  frame.set(tail, 4 + header.length)
  return frame
}

function failure(bytes: Uint8Array): FrameError {
  try {
    decodeFrame(bytes)
  } catch (error) {
    if (error instanceof FrameError) return error
    throw error
  }
  throw new Error('decoded')
}

const section = fc
  .tuple(fc.constantFrom(...SECTION_TYPES), fc.integer({ min: 0, max: 70 }))
  .chain(([type, count]) => {
    const length = count * sectionElementBytes(type)
    return fc.uint8Array({ minLength: length, maxLength: length }).map((bytes): Section => ({ type, bytes }))
  })
const sections = fc.dictionary(fc.string({ minLength: 1, maxLength: 32 }), section, {
  maxKeys: 16,
})
const fields = fc.record({
  id: fc.maxSafeNat(),
  op: fc.string({ maxLength: 300 }),
  list: fc.array(fc.oneof(fc.boolean(), fc.integer(), fc.double({ noNaN: true }), fc.constant(null))),
})

t.test('a frame comes back as it went in, at any alignment of its memory', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  fc.assert(
    fc.property(fields, sections, fc.nat(7), (header, table, shift) => {
      const frame = encodeFrame(header, table)
      const moved = new Uint8Array(frame.length + shift).subarray(shift)
      moved.set(frame)
      const decoded = decodeFrame(moved)
      assert.equal(decoded.id, header.id)
      assert.deepEqual(JSON.parse(JSON.stringify(decoded.header)), JSON.parse(JSON.stringify(header)))
      assert.deepEqual([...decoded.sections.keys()], Object.keys(table))
      for (const [name, { type, bytes }] of decoded.sections) {
        assert.equal(type, table[name].type)
        assert.ok(Buffer.from(bytes).equals(table[name].bytes))
        assert.equal((bytes.byteOffset - moved.byteOffset) % 8, 0)
        assert.equal(bytes.buffer, moved.buffer)
      }
    }),
    { numRuns: 300, seed },
  )
})

t.test('frames of many shapes by turns, and of fields that change, are no mixture', async (t) => {
  const tags = ['a']
  const headers = [
    { id: 1, op: 'get', index: 'x' },
    { id: 1, op: 'get', index: 'y' },
    { id: 300, op: 'get', index: 'x' },
    { id: 1, op: 'get', index: 'x', all: true },
    { id: 1, op: 'get', index: 'x', all: undefined },
    { id: 1, index: 'x', op: 'get' },
    { id: 1, op: 'get', index: 'x', tags },
  ]
  const columns: Record<string, Section>[] = [
    {},
    { keys: { type: 'u32', bytes: asBytes(Uint32Array.of(7)) } },
    { keys: { type: 'u32', bytes: asBytes(Uint32Array.of(7, 8)) } },
    { keys: { type: 'f32', bytes: asBytes(Uint32Array.of(9)) } },
    { others: { type: 'u32', bytes: asBytes(Uint32Array.of(10)) } },
  ]
  for (let round = 0; round < 3; round++) {
    tags[0] = 'abc'[round]!
    for (const header of headers) {
      for (const sections of columns) {
        // Twice, since the second one is of the shape that was used last.
        for (const _ of [1, 2]) {
          const { id, header: fields, sections: found } = decodeFrame(encodeFrame(header, sections))
          t.strictSame({ ...fields, id }, JSON.parse(JSON.stringify(header)))
          t.strictSame([...found.keys()], Object.keys(sections))
          for (const [name, { type, bytes }] of found) {
            t.equal(type, sections[name]!.type)
            t.strictSame([...bytes], [...sections[name]!.bytes])
          }
        }
      }
    }
  }
})

t.test('absent fields are left out', async (t) => {
  t.strictSame(Object.keys(decodeFrame(encodeFrame({ id: 1, index: undefined })).header), ['id'])
})

t.test('what is wrong with a frame is said, with the id where it can be read', async (t) => {
  const place = { name: 'keys', type: 'u32', offset: 200, length: 8 }
  const cases: [string, Uint8Array, number | null, RegExp][] = [
    ['nothing', new Uint8Array(), null, /no header length/],
    ['header past the end', Uint8Array.of(9, 0, 0, 0, 0x80), null, /only 1 bytes follow/],
    ['empty header', raw(new Uint8Array()), null, /not plain msgpack/],
    ['no map', handMade([1]), null, /must be a map/],
    ['no id', handMade({ op: 'get' }), null, /id must be/],
    ['negative id', handMade({ id: -1 }), null, /id must be/],
    ['fractional id', handMade({ id: 1.5 }), null, /id must be/],
    ['table no array', handMade({ id: 3, sections: {} }), 3, /must be an array/],
    ['entry no map', handMade({ id: 3, sections: [1] }), 3, /must be a map/],
    ['no name', handMade({ id: 3, sections: [{ ...place, name: '' }] }), 3, /name must be/],
    ['unknown type', handMade({ id: 3, sections: [{ ...place, type: 'u16' }] }), 3, /must be one of u8, u32/],
    ['unaligned', handMade({ id: 3, sections: [{ ...place, offset: 92 }] }), 3, /multiple of 8/],
    ['part of an element', handMade({ id: 3, sections: [{ ...place, length: 6 }] }), 3, /multiple of 4/],
    ['in the header', handMade({ id: 3, sections: [{ ...place, offset: 8 }] }), 3, /starts before/],
    ['past the end', handMade({ id: 3, sections: [place] }), 3, /ends at 208, after/],
    ['absurd length', handMade({ id: 3, sections: [{ ...place, length: 2 ** 52 }] }), 3, /ends at/],
    ['twice', handMade({ id: 3, sections: [place, place] }, new Uint8Array(208)), 3, /there twice/],
    [
      'overlapping',
      handMade({ id: 3, sections: [place, { ...place, name: 'b' }] }, new Uint8Array(208)),
      3,
      /starts before 208/,
    ],
    ['too many', handMade({ id: 3, sections: Array(513).fill(place) }), 3, /513 sections; 512 are allowed/],
  ]
  for (const [name, bytes, id, message] of cases) {
    t.match(failure(bytes), { code: 'BAD_REQUEST', id, message }, name)
  }
})

t.test(
  'depth is limited before anything is made of a header, and whoever writes one is told, too',
  async (t) => {
    /** So many lists within each other, with something before and behind each, so that what is complete does not count. */
    const nested = (levels: number) => {
      let list: unknown = [1]
      for (let i = 1; i < levels; i++) list = [null, [2], list, { a: 'b' }, 3]
      return list
    }
    const most = LIMITS.headerDepth - 1
    const message = /nested deeper than 256 levels/
    t.equal(decodeFrame(handMade({ id: 7, list: nested(most) })).id, 7)
    t.match(failure(handMade({ id: 7, list: nested(most + 1) })), { code: 'BAD_REQUEST', id: null, message })
    for (const levels of [10_000, 60_000]) {
      t.match(failure(raw(Uint8Array.from([...Array(levels).fill(0x91), 0xc0]))), { message })
    }
    t.equal(decodeFrame(encodeFrame({ id: 7, query: nested(most) })).id, 7)
    t.throws(() => encodeFrame({ id: 7, query: nested(most + 1) }), { code: 'BAD_REQUEST', message })
  },
)

t.test('sizes are limited before anything is read', async (t) => {
  const tooLong = new Uint8Array(LIMITS.frameBytes + 1)
  t.match(failure(tooLong), { code: 'TOO_LARGE', id: null })
  t.match(failure(raw(new Uint8Array(LIMITS.headerBytes + 1))), { code: 'TOO_LARGE', id: null })
  t.throws(() => encodeFrame({ id: 1, op: 'x'.repeat(LIMITS.headerBytes) }), { code: 'TOO_LARGE' })
  t.throws(() => encodeFrame({ id: 1 }, { a: { type: 'u8', bytes: new Uint8Array(LIMITS.frameBytes) } }), {
    code: 'TOO_LARGE',
  })
})

t.test('only plain msgpack is decoded', async (t) => {
  const hostile: [string, Uint8Array][] = [
    ['record definition', Uint8Array.of(0xd4, 0x72, 0x40, 0x91, 0xa2, 0x69, 0x64, 1)],
    ['regular expression', Uint8Array.of(0x81, 0xa1, 0x61, 0xc7, 2, 0x78, 0x92, 0xa0)],
    ['timestamp', packr.pack({ id: 1, at: new Date(0) })],
    ['binary', packr.pack({ id: 1, keys: new Uint8Array(4) })],
    ['array of 2^32 - 1', Uint8Array.of(0x81, 0xa1, 0x61, 0xdd, 0xff, 0xff, 0xff, 0xff)],
    ['map of 2^32 - 1', Uint8Array.of(0xdf, 0xff, 0xff, 0xff, 0xff)],
    ['string past the end', Uint8Array.of(0x81, 0xa1, 0x61, 0xdb, 0xff, 0xff, 0xff, 0xff)],
    ['cut count', Uint8Array.of(0xde, 1)],
    ['two values', Uint8Array.of(0x80, 0x80)],
    ['reserved lead', Uint8Array.of(0xc1)],
    ['deep nesting', new Uint8Array(LIMITS.headerBytes).fill(0x91)],
  ]
  for (const [name, header] of hostile) t.match(failure(raw(header)), { code: 'BAD_REQUEST' }, name)
  const nested = new Uint8Array(LIMITS.headerBytes).fill(0x91)
  nested[nested.length - 1] = 0xc0
  t.match(failure(raw(nested)), { code: 'BAD_REQUEST' }, 'nesting that is complete')
  const wide = {
    id: 2 ** 40,
    a: -5,
    b: -200,
    c: -70000,
    d: -(2 ** 40),
    e: 1.5,
    f: 'x'.repeat(300),
    g: Array(20).fill(0),
  }
  t.strictSame({ ...decodeFrame(handMade(wide)).header }, wide, 'every plain form')
  const wideId = Uint8Array.of(0x81, 0xa2, 0x69, 0x64, 0xcf, 0, 0, 0, 0, 0, 0, 0, 7)
  t.equal(decodeFrame(raw(wideId)).id, 7, 'an id as a 64-bit integer')
})

t.test('damaged frames fail with a code and nothing else', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const whole = encodeFrame(
    { id: 5, op: 'get', index: 'cities', all: true },
    { keys: { type: 'u32', bytes: new Uint8Array(64) }, more: { type: 'bytes', bytes: new Uint8Array(3) } },
  )
  const expectCode = (bytes: Uint8Array) => {
    try {
      decodeFrame(bytes)
    } catch (error) {
      if (!(error instanceof WarpdexError)) throw error
    }
  }
  for (let end = 0; end < whole.length; end++) failure(whole.subarray(0, end))
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expectCode(bytes)
      expectCode(raw(bytes))
    }),
    { numRuns: 3000, seed },
  )
  const flips = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(7)), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(flips, (bits) => {
      const damaged = whole.slice()
      for (const [at, bit] of bits) damaged[at] ^= 1 << bit
      expectCode(damaged)
    }),
    { numRuns: 5000, seed },
  )
})

t.test('a typed array over a section is a view where it can be', async (t) => {
  const memory = new Uint8Array(24)
  memory.set(asBytes(Uint32Array.of(7, 8)), 4)
  const view = aligned(memory.subarray(4, 12), Uint32Array)
  t.strictSame([...view], [7, 8])
  t.equal(view.buffer, memory.buffer)
  memory.copyWithin(5, 4, 12)
  const copy = aligned(Buffer.from(memory.buffer, 5, 8), Uint32Array)
  t.strictSame([...copy], [7, 8])
  t.not(copy.buffer, memory.buffer)
  t.throws(() => aligned(memory.subarray(0, 7), Uint32Array), { code: 'BAD_REQUEST' })
})
