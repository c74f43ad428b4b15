import t from 'tap'
import { decodeTuple, type ScalarKey, TupleEncoder, tupleFault } from '../../protocol/tuple-key.js'
import { parseKeyType, type ScalarKeyType, tupleParts } from '../../protocol/types.js'
import { Random, seedOfRun } from '../random.js'

function encode(parts: readonly ScalarKeyType[], ...values: ScalarKey[]): Uint8Array {
  const encoder = new TupleEncoder(parts)
  encoder.add(values)
  return encoder.column().bytes
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const unhex = (digits: string) => new Uint8Array(Buffer.from(digits, 'hex'))

t.test('key types are read in any spelling and have one', async (t) => {
  t.equal(parseKeyType('string'), 'string')
  t.equal(parseKeyType(' tuple ( u32 ,string,\tbytes ) '), 'tuple(u32,string,bytes)')
  t.same(tupleParts('tuple(u32,string)'), ['u32', 'string'])
  const wrong: [unknown, RegExp][] = [
    ['u16', /unknown key type "u16"; use one of u32.*string, bytes, or a tuple/],
    [7, /unknown key type 7/],
    [undefined, /unknown key type undefined/],
    [' u32', /unknown key type/],
    ['tuple(u32)', /has 1 parts; a tuple has 2 to 8/],
    [`tuple(${Array(9).fill('u32')})`, /has 9 parts/],
    ['tuple(u32,)', /"" is not a type of a tuple's part/],
    ['tuple(u32,tuple(u32,u32))', /"tuple\(u32" is not a type of a tuple's part/],
    ['tuple(u32,u32', /unknown key type/],
    ['Tuple(u32,u32)', /unknown key type/],
  ]
  for (const [value, message] of wrong) {
    t.throws(() => parseKeyType(value), { code: 'BAD_REQUEST', message }, String(value))
  }
})

t.test('parts are encoded as documented', async (t) => {
  const cases: [ScalarKeyType, ScalarKey, string][] = [
    ['u32', 0x01020304, '01020304'],
    ['i32', -1, '7fffffff'],
    ['i32', 2 ** 31 - 1, 'ffffffff'],
    ['i32', -(2 ** 31), '00000000'],
    ['u64', 2n ** 64n - 2n, 'fffffffffffffffe'],
    ['i64', -1n, '7fffffffffffffff'],
    ['i64', 5, '8000000000000005'],
    ['f32', 0, '80000000'],
    ['f32', -0, '80000000'],
    ['f32', 1, 'bf800000'],
    ['f32', -1, '407fffff'],
    ['f64', -0, '8000000000000000'],
    ['f64', 1, 'bff0000000000000'],
    ['f64', -1, '400fffffffffffff'],
    ['f64', Number.NEGATIVE_INFINITY, '000fffffffffffff'],
    ['string', 'é', 'c3a90000'],
    ['string', 'a\0b', '6100ff620000'],
    ['bytes', Uint8Array.of(0, 0, 255), '00ff00ffff0000'],
    ['bytes', new Uint8Array(), '0000'],
  ]
  for (const [type, value, expected] of cases)
    t.equal(hex(encode([type], value)), expected, `${type} ${value}`)
})

t.test('what a part cannot hold is refused', async (t) => {
  const cases: [ScalarKeyType, ScalarKey][] = [
    ['u32', -1],
    ['u32', 1.5],
    ['u32', 2 ** 32],
    ['u32', 1n],
    ['i32', 2 ** 31],
    ['u64', -1n],
    ['u64', 0.5],
    ['i64', 2n ** 63n],
    ['u64', 'x'],
    ['f32', Number.NaN],
    ['f64', 1n],
    ['string', Uint8Array.of(1)],
    ['string', 'a\ud800'],
    ['bytes', 'a'],
  ]
  for (const [type, value] of cases) {
    const message = new RegExp(`is not of type ${type}, which part 0`)
    t.throws(() => encode([type], value), { code: 'BAD_REQUEST', message }, `${type} ${value}`)
  }
  t.throws(() => encode(['u32'], 1, 2), { message: /2 parts; the type has 1/ })
})

t.test('what is no tuple is found out', async (t) => {
  const parts: ScalarKeyType[] = ['f32', 'string', 'bytes', 'f64']
  const right = '8000000061000000ff0000bff0000000000000'
  t.equal(tupleFault(parts, unhex(right)), undefined)
  const wrong: [string, RegExp][] = [
    ['', /part 0 .f32. is cut off/],
    ['800000', /part 0 .f32. is cut off/],
    [right.replace('80000000', 'ffc00000'), /part 0 .f32. is NaN/],
    [right.replace('80000000', '7fffffff'), /part 0 .f32. is NaN or -0/],
    [right.replace('61', 'ff'), /part 1 is not UTF-8/],
    [right.replace('610000', '6100fe0000'), /part 1 .string. is not ended/],
    ['8000000061', /part 1 .string. is not ended/],
    ['800000006100', /part 1 .string. is not ended/],
    [right.replace('610000', 'c300ffa90000'), /part 1 is not UTF-8/],
    [right.slice(0, -2), /part 3 .f64. is cut off/],
    [right.replace('bff0000000000000', 'fff8000000000000'), /part 3 .f64. is NaN/],
    [right.replace('bff0000000000000', '7fffffffffffffff'), /part 3 .f64. is NaN or -0/],
    [`${right}00`, /1 bytes behind the last part/],
  ]
  for (const [digits, fault] of wrong) t.match(tupleFault(parts, unhex(digits)) ?? '', fault, digits)
  t.throws(() => decodeTuple(['u32'], unhex('00')), { code: 'BAD_REQUEST' })
})

function randomPart(random: Random, type: ScalarKeyType): ScalarKey {
  const bytes = Uint8Array.from({ length: random.below(4) }, () => random.pick([0, 1, 97, 254, 255]))
  if (type === 'bytes') return bytes
  if (type === 'string') return Array.from(bytes, (byte) => ['\0', 'a', 'é', '🜁', 'b'][byte % 5]).join('')
  const small = random.below(3)
  if (type === 'u32') return random.pick([small, random.word()])
  if (type === 'i32') return random.pick([small, -small, random.word() | 0])
  const wide = (BigInt(random.word()) << 32n) | BigInt(random.word())
  if (type === 'u64') return random.pick([BigInt(small), wide])
  if (type === 'i64') return random.pick([BigInt(-small), BigInt.asIntN(64, wide)])
  return Math.fround(random.pick([small, -small, 1e-45, -1e30, Infinity, -Infinity, random.word() / 7]))
}

/** Compares as the types do, without a look at any encoding. */
function compare(type: ScalarKeyType, a: ScalarKey, b: ScalarKey): number {
  if (type === 'bytes') return Buffer.compare(a as Uint8Array, b as Uint8Array)
  if (type === 'string') return Buffer.compare(Buffer.from(a as string), Buffer.from(b as string))
  return a < b ? -1 : a > b ? 1 : 0
}

t.test('encoded tuples are in the order of the tuples, and are decoded to what they were', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  for (const text of [
    'tuple(u32,string)',
    'tuple(bytes,i64,f64)',
    'tuple(string,bytes,string)',
    'tuple(f32,i32,u64)',
  ] as const) {
    const parts = tupleParts(text)
    const tuples = Array.from({ length: 400 }, () => parts.map((part) => randomPart(random, part)))
    const encoder = new TupleEncoder(parts)
    for (const tuple of tuples) encoder.add(tuple)
    const { bytes, offsets } = encoder.column()
    const encoded = tuples.map((_, i) => bytes.subarray(offsets[i], offsets[i + 1]))
    for (let i = 1; i < tuples.length; i++) {
      const order = parts.reduce(
        (found, part, j) => found || compare(part, tuples[i - 1][j], tuples[i][j]),
        0,
      )
      if (Math.sign(Buffer.compare(encoded[i - 1], encoded[i])) !== order) {
        t.fail(`${text}: ${tuples[i - 1]} and ${tuples[i]}`)
      }
      t.strictSame(
        decodeTuple(parts, encoded[i]),
        tuples[i].map((value) => (value === 0 ? 0 : value)),
      )
    }
  }
})
