import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Packr } from 'msgpackr'
import t from 'tap'
import { decodeFrame, encodeFrame, type Section } from '../../protocol/frame.js'
import { KnownHeads } from '../../protocol/known-heads.js'
import { seedOfRun } from '../random.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

const someId = fc.oneof(fc.nat(300), fc.nat(70_000), fc.nat(2 ** 32), fc.maxSafeNat())

const someHeader = fc.record(
  { op: fc.constantFrom('get', 'count'), index: fc.constantFrom('a', 'b', 'ab'), all: fc.boolean() },
  { requiredKeys: ['op'] },
)
const someSections = fc.dictionary(
  fc.constantFrom('keys', 'keyOffsets'),
  fc.record({
    type: fc.constantFrom<Section['type']>('u8', 'bytes'),
    bytes: fc.uint8Array({ maxLength: 12 }),
  }),
  { noNullPrototype: true },
)

/** Frames of few kinds, so that their heads meet again: an id, a header, sections with other bytes each time, and a place in memory. */
const someFrames = fc
  .tuple(
    fc.array(fc.tuple(someHeader, someSections), { minLength: 1, maxLength: 3 }),
    fc.array(fc.tuple(fc.nat(2), someId, fc.nat(9)), { minLength: 20, maxLength: 40 }),
  )
  .map(([kinds, frames]) =>
    frames.map(([number, id, by]) => {
      const [header, sections] = kinds[number % kinds.length]!
      const changed = Object.entries(sections).map(
        ([name, { type, bytes }]) => [name, { type, bytes: bytes.map((byte) => byte ^ id) }] as const,
      )
      return [id, header, Object.fromEntries(changed), by] as const
    }),
  )

/** At any place of a larger piece of memory, as it comes off the network. */
function moved(frame: Uint8Array, by: number): Uint8Array {
  const memory = new Uint8Array(frame.length + by + 8).fill(0xcd)
  memory.set(frame, by)
  return memory.subarray(by, by + frame.length)
}

t.test('what is found means what decoding it would tell', async (t) => {
  let hits = 0
  fc.assert(
    fc.property(someFrames, (frames) => {
      const heads = new KnownHeads<unknown>()
      for (const [id, header, sections, by] of frames) {
        const bytes = moved(encodeFrame({ id, ...header }, sections), by)
        const decoded = decodeFrame(bytes)
        const head = heads.find(bytes)
        if (head === undefined) {
          heads.keep(bytes, decoded, { ...decoded.header, id: 0 })
          continue
        }
        hits++
        assert.deepEqual(head.value, { ...decoded.header, id: 0 })
        assert.equal(head.idOf(bytes), id)
        assert.deepEqual(
          head.sections.map(({ name, type, offset, end }) => [name, type, [...bytes.subarray(offset, end)]]),
          Array.from(decoded.sections, ([name, { type, bytes }]) => [name, type, [...bytes]]),
        )
      }
    }),
    { seed, numRuns: 200 },
  )
  t.ok(hits > 100, `${hits} were found`)
})

t.test('a frame that differs in any byte of its head, but the id, is not found', (t) => {
  const heads = new KnownHeads<string>()
  const frame = encodeFrame(
    { id: 70_000, op: 'get', index: 'numbers' },
    { keys: { type: 'u32', bytes: new Uint8Array(8) } },
  )
  heads.keep(frame, decodeFrame(frame), 'get')
  const start = frame.length - 8
  const found: number[] = []
  for (let at = 0; at < frame.length; at++) {
    const other = frame.slice()
    other[at]! ^= 1
    if (heads.find(other) !== undefined) found.push(at)
  }
  // The lead of the header's length, that of the map, "id", the id's own lead, and its four bytes.
  t.same(found, [9, 10, 11, 12, ...Array.from({ length: 8 }, (_, i) => start + i)])
  t.equal(heads.find(frame.subarray(0, frame.length - 4)), undefined)
  t.equal(heads.find(moved(frame, 0).subarray(0, 6)), undefined)
  t.equal(heads.find(new Uint8Array()), undefined)
  t.end()
})

t.test('what cannot be known by its bytes is not kept', (t) => {
  const packr = new Packr({ useRecords: false })
  const framed = (header: Uint8Array) => {
    const frame = new Uint8Array(4 + header.length)
    new DataView(frame.buffer).setUint32(0, header.length, true)
    frame.set(header, 4)
    return frame
  }
  const sections: never[] = []
  const frames = {
    'the id comes later': framed(packr.pack({ op: 'get', id: 1, sections })),
    'no table of sections': framed(packr.pack({ id: 1, op: 'get' })),
    'an id of more than 32 bits': framed(packr.pack({ id: 2 ** 40, op: 'get', sections })),
    'an id of none': framed(packr.pack({ id: null, op: 'get', sections })),
    'a field twice': framed(
      Uint8Array.from([
        0x84,
        0xa2,
        0x69,
        0x64,
        1,
        0xa2,
        0x69,
        0x64,
        2,
        0xa1,
        0x61,
        3,
        ...packr.pack('sections'),
        0x90,
      ]),
    ),
    'a large frame': encodeFrame(
      { id: 1, op: 'get' },
      { keys: { type: 'u32', bytes: new Uint8Array(4096) } },
    ),
  }
  for (const [what, frame] of Object.entries(frames)) {
    const heads = new KnownHeads<string>()
    heads.keep(frame, decodeFrame(frame), 'kept')
    t.equal(heads.find(frame), undefined, what)
  }
  t.end()
})
