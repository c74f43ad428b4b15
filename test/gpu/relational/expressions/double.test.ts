import t from 'tap'
import { Random, seedOfRun } from '../../../random.js'
import { openDevice } from '../../open-device.js'
import { bitsOf, check, computedOn } from './double-bed.js'
import { doublePairs, randomDouble, SPECIAL_DOUBLES } from './doubles.js'

const computed = computedOn(await openDevice(t), 'relational/expressions/double')
const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)

const OPERATIONS = {
  add: (a: number, b: number) => a + b,
  subtract: (a: number, b: number) => a - b,
  multiply: (a: number, b: number) => a * b,
  divide: (a: number, b: number) => a / b,
}

/** Of each operation. */
const PAIRS = 1_000_000

for (const [name, apply] of Object.entries(OPERATIONS)) {
  t.test(`${name}: bit for bit as JavaScript`, async (t) => {
    const [a, b] = doublePairs(random, PAIRS)
    const uses = `${name}_doubles`
    const found = await computed({ uses, result: `${uses}(a, b)` }, a.buffer, b.buffer)
    const wanted = bitsOf(a.map((value, i) => apply(value, b[i]!)))
    check(t, found, wanted, (row) => `${a[row]} and ${b[row]}`)
  })
}

t.test('a negated number has the other sign, and NaN stays', async (t) => {
  const [a] = doublePairs(random, 20_000)
  const found = await computed({ uses: 'negate_double', result: 'negate_double(a)' }, a.buffer, a.buffer)
  check(t, found, bitsOf(a.map((value) => -value)), (row) => `${a[row]}`)
})

/** Integers of 64 bits of all lengths: random ones, neighbours of powers of two, and those halfway between doubles. */
function integers(count: number): BigUint64Array<ArrayBuffer> {
  return BigUint64Array.from({ length: count }, (_, i) => {
    const bits = BigInt(i % 65)
    const any = (BigInt(random.word()) << 32n) | BigInt(random.word())
    const top = (1n << bits) >> 1n
    const lowest = (1n << bits) >> 54n
    const kind = random.below(3)
    const value = kind === 0 ? any : kind === 1 ? top + BigInt(random.below(5) - 2) : (any | 1n) * lowest
    const short = BigInt.asUintN(Number(bits), value) | top
    return random.chance(0.5) ? short : BigInt.asUintN(64, -short)
  })
}

t.test('integers, signed or not, become the nearest doubles', async (t) => {
  const values = integers(50_000)
  const signed = new BigInt64Array(values.buffer)
  for (const isSigned of [false, true]) {
    const result = `integer_to_double(a, ${isSigned})`
    const found = await computed({ uses: 'integer_to_double', result }, values.buffer, values.buffer)
    const wanted = Float64Array.from(isSigned ? signed : values, Number)
    check(t, found, bitsOf(wanted), (row) => `${(isSigned ? signed : values)[row]}`)
  }
})

t.test('decimals of each scale become the doubles of their text', async (t) => {
  const values = new BigInt64Array(integers(100_000).buffer)
  const scales = values.map((_, i) => BigInt(i % 19))
  const powers = scales.map((scale) => 10n ** scale)
  // Whole numbers and halfway between doubles, or next to either. Only of scales up to 3 can 64 bits have the latter: an odd number of 54 bits, divided
  // by 2^scale.
  for (let i = 0; i < values.length; i += 2) {
    const scale = scales[i]!
    const odd = (1n << 53n) | (BigInt(random.word()) << 21n) | (BigInt(random.word()) >> 11n) | 1n
    const whole = BigInt(random.word()) % ((1n << 62n) / powers[i]!)
    const exact = scale < 4n ? odd * 5n ** scale : whole * powers[i]!
    values[i] = (random.chance(0.5) ? exact : -exact) + BigInt(random.below(3) - 1)
  }
  const result = 'decimal_to_double(a, b)'
  const found = await computed({ uses: 'decimal_to_double', result }, values.buffer, powers.buffer)
  const wanted = Float64Array.from(values, (value, i) => Number(`${value}e-${scales[i]}`))
  check(t, found, bitsOf(wanted), (row) => `${values[row]}e-${scales[row]}`)
})

t.test('floats become doubles and stay what they are', async (t) => {
  const words = new Uint32Array(200_000).map((_, i) => {
    if (i % 2 === 1) return 0
    const exponent = random.pick([0, 1, 254, 255, random.below(256)])
    return (random.word() & 0x807fffff & -(1 << random.below(24))) | (exponent << 23)
  })
  const floats = new Float32Array(words.buffer)
  const uses = 'float_to_double'
  const found = await computed({ uses, result: 'float_to_double(a.x)' }, words.buffer, words.buffer)
  const wanted = Float64Array.from({ length: words.length / 2 }, (_, i) => floats[2 * i]!)
  check(t, found, bitsOf(wanted), (row) => `${floats[2 * row]}`)
})

t.test('doubles become the nearest floats', async (t) => {
  const values = Float64Array.from({ length: 200_000 }, (_, i) => {
    if (i < SPECIAL_DOUBLES.length) return SPECIAL_DOUBLES[i]!
    const value = randomDouble(random, 1023 - 155 + random.below(290))
    // Halfway between floats, and beside it.
    const half = Math.fround(value) * (1 + 2 ** -24 * random.below(3))
    return random.pick([value, half, half * (1 + 2 ** -52), randomDouble(random, random.word())])
  })
  const result = 'vec2u(double_to_float(a), 0u)'
  const found = await computed({ uses: 'double_to_float', result }, values.buffer, values.buffer)
  const wanted = new Uint32Array(2 * values.length)
  const floats = new Float32Array(wanted.buffer)
  for (const [i, value] of values.entries()) {
    floats[2 * i] = value
    if (Number.isNaN(value)) wanted[2 * i] = 0x7fc00000
  }
  check(t, found, wanted, (row) => `${values[row]}`)
})
