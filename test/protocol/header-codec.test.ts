import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Packr } from 'msgpackr'
import t from 'tap'
import { packHeader, unpackHeader } from '../../protocol/header-codec.js'
import { LIMITS } from '../../protocol/limits.js'
import { seedOfRun } from '../random.js'

/** What others write and read. */
const packr = new Packr({ useRecords: false, int64AsType: 'number' })

t.test('headers are what a library of msgpack reads and writes', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.string({ minLength: 30, maxLength: 70_000 }),
  )
  const number = fc.oneof(
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, -32, -33, -128, -129, -32_769),
  )
  const scalar = fc.oneof(text, number, fc.boolean(), fc.constant(null))
  const list = fc.array(scalar, { size: '+1' })
  // msgpackr has another name for that one.
  const name = text.filter((name) => name !== '__proto__')
  const map = fc.dictionary(name, fc.oneof(scalar, list), { noNullPrototype: true, size: '+1' })
  fc.assert(
    fc.property(fc.oneof(scalar, list, map, fc.array(map)), (value) => {
      const header = { id: 1, value }
      const plain = JSON.parse(JSON.stringify(header))
      assert.deepEqual(packr.unpack(packHeader(header)), plain)
      assert.deepEqual(unpackHeader(packr.pack(header)), plain)
      assert.deepEqual(unpackHeader(packHeader(header)), plain)
    }),
    { numRuns: 500, seed },
  )
})

t.test('nothing but plain headers is read', async (t) => {
  const named = packHeader({ ['__proto__']: 7 })
  t.same(unpackHeader(named), { ['__proto__']: 7 })
  const hostile: readonly (readonly [string, Uint8Array])[] = [
    ['an extension', Uint8Array.of(0x81, 0xa1, 97, 0xd4, 1, 2)],
    ['a cut text', Uint8Array.of(0x81, 0xa9, 97)],
    ['a count of what is not there', Uint8Array.of(0xdf, 0xff, 0xff, 0xff, 0xff)],
    ['two values', Uint8Array.of(0x80, 0x80)],
    ['a key that is no text', Uint8Array.of(0x81, 1, 2)],
    ['deep nesting', new Uint8Array(LIMITS.headerBytes).fill(0x91)],
  ]
  for (const [name, header] of hostile) t.throws(() => unpackHeader(header), { code: 'BAD_REQUEST' }, name)
})

t.test('nothing but plain values is written, and absent fields are not', async (t) => {
  for (const value of [1n, Buffer.from('bytes'), new Date(0), new Map(), new Set(), () => 1, Symbol('s')]) {
    t.throws(() => packHeader({ value }), { code: 'BAD_REQUEST', message: /cannot hold a value of type / })
  }
  t.same(unpackHeader(packHeader({ id: 1, absent: undefined })), { id: 1 })
})
