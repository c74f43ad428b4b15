import t from 'tap'
import { guardedArguments, removeGuards } from '../../../clients/cli/guarded-arguments.js'
import { keyAsJson, parseKey, parseKeyEnd, parsePrefix, showKey } from '../../../clients/cli/keys.js'
import { bytesText, table } from '../../../clients/cli/output.js'
import { type AnyPayload, parsePayload, payloadAsJson, showPayload } from '../../../clients/cli/payloads.js'
import { DEFAULT_URL } from '../../../clients/cli/session.js'
import type { IndexDefinition, KeyType, PayloadKind } from '../../../protocol/types.js'
import { SETTINGS } from '../../../src/config/settings.js'
import { Random, seedOfRun } from '../../random.js'

const index = (keyType: KeyType, payloadKind: PayloadKind = 'u32'): IndexDefinition => ({
  name: 'x',
  keyType,
  payloadKind,
  unique: false,
})

t.test('keys within the range of their type', async (t) => {
  const cases: [KeyType, string, number | bigint][] = [
    ['u32', '4294967295', 4294967295],
    ['i32', '-2147483648', -2147483648],
    ['i32', '+7', 7],
    ['u64', '18446744073709551615', 2n ** 64n - 1n],
    ['i64', '-9223372036854775808', -(2n ** 63n)],
    ['f64', '-1.5e3', -1500],
    ['f64', '.5', 0.5],
    ['f32', '0.1', Math.fround(0.1)],
    ['f32', '-infinity', Number.NEGATIVE_INFINITY],
  ]
  for (const [type, text, key] of cases) t.equal(parseKey(text, index(type), false), key, `${type} ${text}`)
})

t.test('keys that are none say what is right', async (t) => {
  const cases: [KeyType, string, RegExp][] = [
    ['u32', '4294967296', /out of range.*0 to 4294967295/],
    ['u32', '-1', /out of range/],
    ['u32', '1.5', /is not a whole number/],
    ['u32', '', /is not a number/],
    ['i64', '9223372036854775808', /out of range.*-9223372036854775808 to/],
    ['f32', '1e39', /out of range/],
    ['f64', 'NaN', /NaN has no place/],
    ['f64', '0x10', /is not a number/],
    ['f64', '1e999', /out of range/],
  ]
  for (const [type, text, message] of cases) {
    t.throws(() => parseKey(text, index(type), false), { code: 'BAD_REQUEST', message }, `${type} ${text}`)
  }
})

t.test('every f32 is shown as a text that is read as the same', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const bits = Uint32Array.from({ length: 20_000 }, () => random.word())
  for (const value of new Float32Array(bits.buffer)) {
    if (Number.isNaN(value)) continue
    const shown = showKey(value, 'f32', false)
    if (parseKey(shown, index('f32'), false) !== value) t.fail(`${value} is shown as ${shown}`)
  }
  t.equal(showKey(Math.fround(0.1), 'f32', false), '0.1')
  t.equal(keyAsJson(Math.fround(0.1), 'f32', false), 0.1)
  t.equal(keyAsJson(2n ** 63n, 'u64', false), '9223372036854775808')
})

t.test('keys that are texts, bytes and tuples', async (t) => {
  const read = (type: KeyType, text: string, hex = false) => parseKey(text, index(type), hex)
  t.equal(read('string', 'ä,\t'), 'ä,\t')
  t.equal(read('string', '0x61', true), 'a')
  t.same(read('bytes', 'ä'), Buffer.from('ä'))
  t.same(read('bytes', '00ff', true), Buffer.of(0, 255))
  t.throws(() => read('string', 'ff', true), { code: 'BAD_REQUEST', message: /not UTF-8/ })
  t.throws(() => read('bytes', 'x', true), { message: /a key of index "x" is pairs of hex digits/ })

  const wide = 'tuple(u64,f64,string,bytes,i32)'
  t.same(read(wide, '["18446744073709551615", "-Infinity", "a\\u0000", {"hex":"00ff"}, -7]'), [
    2n ** 64n - 1n,
    Number.NEGATIVE_INFINITY,
    'a\0',
    Buffer.of(0, 255),
    -7,
  ])
  t.same(read('tuple(u64,bytes)', ' [ 7 , "a" ] '), [7n, Buffer.from('a')])
  t.same(parseKeyEnd('[7]', index('tuple(u64,bytes)'), false), [7n])
  t.same(parsePrefix('[]', index('tuple(u64,bytes)'), false), [])
  const wrong: [string, RegExp][] = [
    ['7', /"7" is not a key; a key of index "x" is a JSON array of 2 parts, u64, bytes/],
    ['[7]', /is not a key/],
    ['[7,"a",1]', /is not a key/],
    ['[7.5,"a"]', /part 0 of a key of index "x" is a whole number/],
    ['[18446744073709551615,"a"]', /in quotes/],
    ['[7,1]', /"1" is not of type bytes; part 1/],
    ['[7,{"hex":"0"}]', /not hex/],
    ['[null,"a"]', /"null" is not a number/],
  ]
  for (const [text, message] of wrong) {
    t.throws(() => read('tuple(u64,bytes)', text), { code: 'BAD_REQUEST', message }, text)
  }
  t.throws(() => parsePrefix('7', index('u32'), false), { message: /have no prefix/ })

  t.equal(showKey('plain ä', 'string', false), 'plain ä')
  t.equal(showKey('a\tb', 'string', false), '0x610962')
  t.equal(showKey(Buffer.of(255), 'bytes', false), '0xff')
  const tuple = [2n ** 63n, Buffer.of(255, 0)]
  t.equal(showKey(tuple, 'tuple(u64,bytes)', false), '["9223372036854775808",{"hex":"ff00"}]')
  t.same(read('tuple(u64,bytes)', showKey(tuple, 'tuple(u64,bytes)', true)), tuple)
  t.same(keyAsJson([0.5, 'a\n'], 'tuple(f32,string)', false), [0.5, 'a\n'])
})

t.test('payloads', async (t) => {
  const read = (kind: PayloadKind, text: string, hex = false) => parsePayload(text, index('u32', kind), hex)
  const show = (kind: PayloadKind, payload: AnyPayload) => showPayload(payload, index('u32', kind), false)
  t.equal(read('u64', '18446744073709551615'), 2n ** 64n - 1n)
  t.same(read('bytes', 'ä'), Buffer.from('ä'))
  t.same(read('bytes', '0x00'), Buffer.from('0x00'))
  t.same(read('bytes', '0x00', true), Buffer.of(0))
  t.same(read('fixed(2)', 'ä'), Buffer.from('ä'))
  t.same(read('fixed(2)', 'FF0a', true), Buffer.of(255, 10))
  t.throws(() => read('u32', '1e3'), { message: /a payload of index "x" is a whole number from 0/ })
  t.throws(() => read('fixed(2)', 'abc'), { message: /is 3 bytes; .* is 2 bytes.* 4 hex digits/ })
  t.throws(() => read('bytes', 'abc', true), { message: /is not hex/ })

  t.equal(read('text', 'ä'), 'ä')
  t.equal(read('text', 'c3a4', true), 'ä')
  t.throws(() => read('text', 'ff', true), { message: /are not UTF-8/ })
  t.same(read('json', '{"a": [1, null]}', true), { a: [1, null] })
  t.throws(() => read('json', '{a}'), { message: /"\{a\}" is not JSON/ })
  t.equal(show('text', 'plain ä'), 'plain ä')
  t.equal(show('text', 'a\tb'), '0x610962')
  t.equal(show('json', { a: 'b\n' }), '{"a":"b\\n"}')
  t.equal(show('json', 'b'), '"b"')
  t.equal(payloadAsJson('a', true), 'a')
  t.same(payloadAsJson({ a: null }, false), { a: null })
  t.equal(show('bytes', Buffer.from('plain ä')), 'plain ä')
  t.equal(show('bytes', Buffer.from('a\tb')), '0x610962')
  t.equal(show('bytes', Buffer.of(0xff)), '0xff')
  t.equal(payloadAsJson(Buffer.from('a\tb'), false), 'a\tb')
  t.same(payloadAsJson(Buffer.of(0xff), false), { hex: 'ff' })
  t.equal(payloadAsJson(7n, false), '7')
})

t.test('arguments that begin with - and are none', async (t) => {
  const args = guardedArguments(['get', '-5', '-1e5', '-', '--from', '-Infinity', '-h', '--', '--all', '-x'])
  t.equal(args[6], '-h')
  t.notOk(args.includes('--'))
  const parsed = { keys: args, from: args[1], limit: 3 }
  removeGuards(parsed)
  t.same(parsed.keys, ['get', '-5', '-1e5', '-', '--from', '-Infinity', '-h', '--all', '-x'])
  t.match(parsed, { from: '-5', limit: 3 })
})

t.test('tables and sizes', async (t) => {
  t.same(
    table(
      ['name', 'size'],
      [
        ['a', 1000],
        ['long', 5],
      ],
    ),
    ['name   size', 'a     1,000', 'long      5'],
  )
  t.same([bytesText(0), bytesText(1023), bytesText(2 ** 20)], ['0 bytes', '1023 bytes', '1.0 MiB'])
})

t.test('clients look for a server where it listens without settings', async (t) => {
  t.equal(DEFAULT_URL, `ws://${SETTINGS.host.fallback}:${SETTINGS.port.fallback}`)
})
