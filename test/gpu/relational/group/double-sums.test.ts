import t from 'tap'
import { Random, seedOfRun } from '../../../random.js'
import { openDevice } from '../../open-device.js'
import { bitsOf, check, computedOn } from '../expressions/double-bed.js'
import { doublePairs, randomDouble } from '../expressions/doubles.js'

const device = await openDevice(t)
const averages = computedOn(device, 'relational/group/double-averages')
const sums = computedOn(device, 'relational/group/double-sums')
const variances = computedOn(device, 'relational/group/double-variance')
const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)

/** Quotients are cut off behind so many bits. */
const PLACES = 240n

/** The nearest double to a quotient times 2^-exponent: JavaScript rounds integers, and the scaling is exact for those here. */
function nearestQuotient(dividend: bigint, divisor: bigint, exponent = 0): number {
  const magnitude = (dividend < 0n ? -dividend : dividend) << PLACES
  const more = magnitude % divisor === 0n ? 0n : 1n
  const whole = Number((2n * (magnitude / divisor)) | more)
  const scaled = whole * 2 ** -Number(PLACES + 1n) * 2 ** -exponent
  return dividend < 0n ? -scaled : scaled
}

/** An unsigned integer of up to some bits, any number of which is as likely. */
function randomInteger(most: number): bigint {
  const bits = BigInt(1 + random.below(most))
  let value = 0n
  for (let i = 0; i < most; i += 32) value = (value << 32n) | BigInt(random.word())
  return BigInt.asUintN(Number(bits), value) | (1n << (bits - 1n))
}

const ROWS = 40_000

/** Integers of 128 bits as words. */
function longs(values: readonly bigint[]): ArrayBuffer {
  return BigUint64Array.from(
    values.flatMap((value) => [BigInt.asUintN(64, value), BigInt.asUintN(64, value >> 64n)]),
  ).buffer
}

/** A sum of up to 127 bits: any, or one whose quotient is whole or halfway between doubles, or next to such a one. */
function sumFor(divisor: bigint): bigint {
  const room = 127 - divisor.toString(2).length
  const odd = randomInteger(54) | (1n << 53n) | 1n
  const exact =
    room >= 54 ? (odd << BigInt(random.below(room - 53))) * divisor : randomInteger(room) * divisor
  const magnitude = random.chance(0.5) ? randomInteger(127) : exact + BigInt(random.below(3) - 1)
  return random.chance(0.5) ? magnitude : -magnitude
}

t.test('sums of 128 bits, divided by numbers of up to 64 bits, become the nearest doubles', async (t) => {
  const divisors = Array.from({ length: ROWS }, () => randomInteger(64))
  const totals = divisors.map(sumFor)
  totals.splice(0, 3, -(1n << 127n), (1n << 127n) - 1n, 0n)
  const average = {
    uses: 'average_as_double',
    result: 'average_as_double(a, vec4u(b, 0u, 0u))',
    left: 4,
  } as const
  const found = await averages(average, longs(totals), BigUint64Array.from(divisors).buffer)
  const wanted = Float64Array.from(totals, (sum, i) => nearestQuotient(sum, divisors[i]!))
  check(t, found, bitsOf(wanted), (row) => `${totals[row]} / ${divisors[row]}`)
})

t.test('sums of decimals of each scale have the nearest averages', async (t) => {
  const counts = Array.from({ length: ROWS }, () => randomInteger(32))
  const powers = counts.map((_, i) => 10n ** BigInt(i % 19))
  const totals = counts.map((count, i) => BigInt.asIntN(96, sumFor(count * powers[i]!)))
  const uses = 'average_as_double'
  const result = 'average_as_double(a, b)'
  const divisors = longs(counts.map((count, i) => count * powers[i]!))
  const found = await averages({ uses, result, left: 4, right: 4 }, longs(totals), divisors)
  const wanted = Float64Array.from(totals, (sum, i) => nearestQuotient(sum, counts[i]! * powers[i]!))
  check(t, found, bitsOf(wanted), (row) => `${totals[row]} / (${counts[row]} * ${powers[row]})`)
})

/** A finite double as an integer times 2^-1074. */
function exactly(value: number): bigint {
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0]!
  const field = (bits >> 52n) & 2047n
  const fraction = bits & (2n ** 52n - 1n)
  const magnitude = field === 0n ? fraction : (fraction | (1n << 52n)) << (field - 1n)
  return value < 0 ? -magnitude : magnitude
}

const ADD = { uses: 'add_sums', result: 'add_sums(a, b)', left: 4, right: 4, words: 4 } as const
const SINGLE = { uses: 'sum_of_double', result: 'sum_of_double(a)', words: 4 } as const
const AVERAGE = {
  uses: 'average_of_sum',
  result: 'average_of_sum(a, vec4u(b.x, 0u, 0u, 0u))',
  left: 4,
} as const

type Words = Uint32Array<ArrayBuffer>

/** Adds up sums, row by row. */
function added(a: Words, b: Words): Promise<Words> {
  return sums(ADD, a.buffer, b.buffer)
}

/** Numbers as sums of one. */
function asSums(values: Float64Array<ArrayBuffer>): Promise<Words> {
  return sums(SINGLE, values.buffer, values.buffer)
}

/** Sums divided by so many. */
function divided(all: Words, counts: readonly bigint[]): Promise<Words> {
  return sums(AVERAGE, all.buffer, BigUint64Array.from(counts).buffer)
}

/** What lies behind the point of integers that stand for sums: bits of a sum of subnormal numbers. */
const PLACES_OF_SUMS = 1200

/** A sum as an integer times 2^-PLACES_OF_SUMS. */
function exactSum(all: Words, row: number): bigint {
  const [x, y, z, w] = all.subarray(4 * row, 4 * row + 4)
  const mantissa = BigInt.asIntN(
    112,
    BigInt(x!) | (BigInt(y!) << 32n) | (BigInt(z!) << 64n) | (BigInt(w! & 0xffff) << 96n),
  )
  const exponent = (w! >>> 16) - 8192 + PLACES_OF_SUMS
  return mantissa === 0n ? 0n : mantissa << BigInt(exponent)
}

t.test('a sum of two numbers is that of JavaScript', async (t) => {
  const [a, b] = doublePairs(random, 100_000)
  const all = await added(await asSums(a), await asSums(b))
  const found = await divided(
    all,
    Array.from(a, () => 1n),
  )
  // What adds up to nothing has no sign.
  const wanted = Float64Array.from(
    a,
    (value, i) => value + b[i]! || (Number.isNaN(value + b[i]!) ? Number.NaN : 0),
  )
  check(t, found, bitsOf(wanted), (row) => `${a[row]} + ${b[row]}`)
})

t.test('squares are exact', async (t) => {
  const [a] = doublePairs(random, 20_000)
  const finite = Float64Array.from(a, (value) =>
    Number.isFinite(value) && Math.abs(value) > 1e-150 ? value : 1,
  )
  const square = { uses: 'square_of_double', result: 'square_of_double(a)', words: 4 } as const
  const found = await sums(square, finite.buffer, finite.buffer)
  const wrong = finite.findIndex((value, row) => {
    const whole = exactly(value)
    return exactSum(found, row) << BigInt(2 * 1074 - PLACES_OF_SUMS) !== whole * whole
  })
  t.equal(wrong, -1, `${finite[wrong]}`)
})

const COLUMNS = 64

/** Columns of numbers that each row of a sum takes one of: of near exponents, of any, or such that most cancels out. */
function columnsToAdd(rows: number): Float64Array<ArrayBuffer>[] {
  const columns = Array.from({ length: COLUMNS }, () => new Float64Array(rows))
  for (let row = 0; row < rows; row++) {
    const [middle, width] = [200 + random.below(1500), random.pick([1, 10, 60, 150, 300])]
    for (let i = 0; i < COLUMNS; i++) {
      const cancels = row % 2 === 1 && i % 2 === 1 && random.chance(0.9)
      const value = randomDouble(random, middle + random.below(width))
      columns[i]![row] = cancels ? -columns[random.below(i)]![row]! : value
    }
  }
  return columns
}

/** The first row whose sum is off by more than double-sums.wesl says. */
function tooFar(all: Words, columns: readonly Float64Array[], depth: number): string | undefined {
  for (let row = 0; row < all.length / 4; row++) {
    const values = columns.map((column) => exactly(column[row]!) << BigInt(PLACES_OF_SUMS - 1074))
    const total = values.reduce((sum, value) => sum + value, 0n)
    const magnitudes = values.reduce((sum, value) => sum + (value < 0n ? -value : value), 0n)
    const off = exactSum(all, row) - total
    if ((off < 0n ? -off : off) << 108n > BigInt(depth) * magnitudes)
      return `row ${row}: off by ${off} of ${total}`
  }
  return undefined
}

t.test('sums of many numbers are within the bound, one after the other and as a tree', async (t) => {
  const columns = columnsToAdd(1000)
  const singles = await Promise.all(columns.map(asSums))
  let chain = singles[0]!
  for (const single of singles.slice(1)) chain = await added(chain, single)
  t.equal(tooFar(chain, columns, COLUMNS - 1), undefined)
  let parts = singles
  while (parts.length > 1) {
    const half = parts.length / 2
    parts = await Promise.all(parts.slice(0, half).map((part, i) => added(part, parts[half + i]!)))
  }
  t.equal(tooFar(parts[0]!, columns, Math.log2(COLUMNS)), undefined)
})

t.test('averages of sums are the nearest doubles', async (t) => {
  const counts = Array.from({ length: ROWS }, () => randomInteger(32))
  const [a, b] = [new Float64Array(ROWS), new Float64Array(ROWS)]
  for (const [i, count] of counts.entries()) {
    a[i] = randomDouble(random, 1023 - 40 + random.below(80))
    b[i] = randomDouble(random, 1023 - 150 + random.below(190))
    if (i % 3 > 0) continue
    // A number of times an odd number of 54 bits, whose average is halfway between doubles, and what is next to it.
    const odd = (1n << 53n) | BigInt(2 * random.word() + 1)
    const total = odd * count + (i % 2 === 0 ? 0n : BigInt(random.below(3) - 1))
    a[i] = Number(total)
    b[i] = Number(total - BigInt(a[i]!))
    if (random.chance(0.5)) [a[i], b[i]] = [-a[i]!, -b[i]!]
  }
  const all = await added(await asSums(a), await asSums(b))
  const found = await divided(all, counts)
  const wanted = Float64Array.from(counts, (count, i) =>
    nearestQuotient(exactSum(all, i) >> BigInt(PLACES_OF_SUMS - 320), count, 320),
  )
  check(t, found, bitsOf(wanted), (row) => `${a[row]} and ${b[row]} / ${counts[row]}`)
})

const ROOT = { uses: 'root_of_double', result: 'root_of_double(a)' } as const

t.test('roots are those of JavaScript', async (t) => {
  const values = Float64Array.from(doublePairs(random, 40_000)[0], (value) => Math.abs(value) || 0)
  const found = await variances(ROOT, values.buffer, values.buffer)
  check(t, found, bitsOf(Float64Array.from(values, Math.sqrt)), (row) => `the root of ${values[row]}`)
})
