import t, { type Test } from 'tap'
import { Random, seedOfRun } from '../../../random.js'
import { openDevice } from '../../open-device.js'
import { doublePairs, randomDouble, SPECIAL_DOUBLES } from './doubles.js'

const device = await openDevice(t)
const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)

const MODULE = 'relational/expressions/double_test'

/** What a kernel is to compute of the words `a` and `b` of each pair: WGSL of a `vec2u`, and the functions of double.wesl that it calls. */
interface Computed {
  readonly uses: string
  readonly result: string
}

/** Pairs of words of each row's result. */
async function computed({ uses, result }: Computed, a: ArrayBuffer, b: ArrayBuffer): Promise<Uint32Array> {
  const text = `import package::device::grid::global_index;
import package::relational::expressions::double::{${uses}};
struct Params { count: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> left: array<vec2u>;
@group(0) @binding(1) var<storage, read> right: array<vec2u>;
@group(0) @binding(2) var<storage, read_write> results: array<vec2u>;
@compute @workgroup_size(256)
fn compute(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let row = global_index(id, groups);
  if (row >= params.count) { return; }
  let a = left[row];
  let b = right[row];
  results[row] = ${result};
}
`
  const kernel = await device.generatedKernel(
    { module: MODULE, generated: { module: MODULE, text } },
    'compute',
  )
  const scratch = device.scratch()
  const recorder = device.record()
  const buffer = (bytes: ArrayBuffer) => {
    const words = scratch.words(bytes.byteLength / 4)
    device.upload(words, new Uint8Array(bytes))
    return words
  }
  const results = scratch.words(a.byteLength / 4)
  const count = a.byteLength / 8
  recorder.dispatch(kernel, { left: buffer(a), right: buffer(b), results }, { count }, count)
  const [read] = await device.submitAndRead(recorder, [{ buffer: results, bytes: a.byteLength }])
  scratch.release()
  return new Uint32Array(read!.buffer, read!.byteOffset, read!.byteLength / 4)
}

const hex = (high: number, low: number) =>
  `${high.toString(16).padStart(8, '0')} ${low.toString(16).padStart(8, '0')}`

/** Fails at the first row whose words are not the wanted ones. */
function check(t: Test, found: Uint32Array, wanted: Uint32Array, rowOf: (row: number) => string): void {
  for (let i = 0; i < wanted.length; i += 2) {
    if (found[i] === wanted[i] && found[i + 1] === wanted[i + 1]) continue
    const [is, instead] = [hex(found[i + 1]!, found[i]!), hex(wanted[i + 1]!, wanted[i]!)]
    t.fail(`row ${i / 2}, ${rowOf(i / 2)}: ${is} instead of ${instead}`)
    return
  }
  t.equal(found.length, wanted.length)
}

/** Bits of doubles, with one NaN. */
function bitsOf(values: Float64Array<ArrayBuffer>): Uint32Array {
  const bits = new Uint32Array(values.buffer)
  for (const [i, value] of values.entries()) {
    if (Number.isNaN(value)) bits.set([0, 0x7ff80000], 2 * i)
  }
  return bits
}

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
