import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import * as inNode from '../../protocol/header-codec.js'
import * as inPages from '../../protocol/header-codec-browser.js'
import { LIMITS } from '../../protocol/limits.js'
import { seedOfRun } from '../random.js'

t.test('both codecs read what the other writes', async (t) => {
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
      assert.deepEqual(inNode.unpackHeader(inPages.packHeader(header)), plain)
      assert.deepEqual(inPages.unpackHeader(inNode.packHeader(header)), plain)
    }),
    { numRuns: 500, seed },
  )
})

t.test('pages read nothing but plain headers', async (t) => {
  const named = inPages.packHeader({ ['__proto__']: 7 })
  t.same(inPages.unpackHeader(named), { ['__proto__']: 7 })
  const hostile: readonly (readonly [string, Uint8Array])[] = [
    ['an extension', Uint8Array.of(0x81, 0xa1, 97, 0xd4, 1, 2)],
    ['a cut text', Uint8Array.of(0x81, 0xa9, 97)],
    ['a count of what is not there', Uint8Array.of(0xdf, 0xff, 0xff, 0xff, 0xff)],
    ['two values', Uint8Array.of(0x80, 0x80)],
    ['a key that is no text', Uint8Array.of(0x81, 1, 2)],
    ['deep nesting', new Uint8Array(LIMITS.headerBytes).fill(0x91)],
  ]
  for (const [name, header] of hostile)
    t.throws(() => inPages.unpackHeader(header), { code: 'BAD_REQUEST' }, name)
})
