import t from 'tap'
import { Random, seedOfRun } from '../../../random.js'
import { openDevice } from '../../open-device.js'
import { bitsOf, check, computedOn } from '../expressions/double-bed.js'
import { doublePairs, randomDouble } from '../expressions/doubles.js'

const device = await openDevice(t)
const averages = computedOn(device, 'relational/group/double-averages')
const sums = computedOn(device, 'relational/group/double-sums')
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
  const uses = 'average_as_double, extended_long, scaled_count'
  const result = 'average_as_double(extended_long(a.xyz), scaled_count(b.x, b.zw))'
  const divisors = longs(counts.map((count, i) => count | (powers[i]! << 64n)))
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

const ADD = {
  uses: 'add_double_pairs',
  result: 'add_double_pairs(a, b)',
  left: 4,
  right: 4,
  words: 4,
} as const

/** Adds up pairs of doubles, row by row. */
async function added(a: Float64Array, b: Float64Array): Promise<Float64Array<ArrayBuffer>> {
  return new Float64Array((await sums(ADD, a.buffer, b.buffer)).buffer)
}

/** Numbers as pairs. */
function asPairs(values: Float64Array): Float64Array<ArrayBuffer> {
  return Float64Array.from({ length: 2 * values.length }, (_, i) => (i % 2 === 0 ? values[i / 2]! : 0))
}

t.test('a sum of two numbers is exact, or not finite as that of JavaScript', async (t) => {
  const [a, b] = doublePairs(random, 100_000)
  const found = await added(asPairs(a), asPairs(b))
  for (let i = 0; i < a.length; i++) {
    const sum = a[i]! + b[i]!
    const [first, rest] = [found[2 * i]!, found[2 * i + 1]!]
    const isExact =
      !Number.isFinite(sum) || exactly(first) + exactly(rest) === exactly(a[i]!) + exactly(b[i]!)
    if (first === sum || (Number.isNaN(first) && Number.isNaN(sum))) {
      if (isExact && (Number.isFinite(sum) || rest === 0)) continue
    }
    t.fail(`${a[i]} and ${b[i]}: ${first} and ${rest}`)
    return
  }
  t.pass()
})

const COLUMNS = 64

/** Columns of numbers that each row of a sum takes one of: of near exponents, of any, or such that most cancels out. */
function columnsToAdd(rows: number): Float64Array[] {
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

/** Whether pairs are off by as little as double-sums.wesl says, and their first doubles are the nearest. */
function areNear(pairs: Float64Array, columns: readonly Float64Array[], depth: number): string | undefined {
  for (let row = 0; row < pairs.length / 2; row++) {
    const values = columns.map((column) => exactly(column[row]!))
    const total = values.reduce((sum, value) => sum + value, 0n)
    const magnitudes = values.reduce((sum, value) => sum + (value < 0n ? -value : value), 0n)
    const [first, rest] = [pairs[2 * row]!, pairs[2 * row + 1]!]
    const off = exactly(first) + exactly(rest) - total
    const isNear = (off < 0n ? -off : off) << 106n <= 4n * BigInt(depth) * magnitudes
    if (!isNear || first + rest !== first)
      return `row ${row}: ${first} and ${rest}, off by ${off} of ${total}`
  }
  return undefined
}

t.test('sums of many numbers are within the bound, one after the other and as a tree', async (t) => {
  const columns = columnsToAdd(1000)
  let chain = asPairs(columns[0]!)
  for (const column of columns.slice(1)) chain = await added(chain, asPairs(column))
  t.equal(areNear(chain, columns, COLUMNS - 1), undefined)
  let parts = columns.map(asPairs)
  while (parts.length > 1) {
    const half = parts.length / 2
    parts = await Promise.all(parts.slice(0, half).map((part, i) => added(part, parts[half + i]!)))
  }
  t.equal(areNear(parts[0]!, columns, Math.log2(COLUMNS)), undefined)
})

/** Numbers whose averages are taken are whole ones times 2^-PAIR_PLACES. */
const PAIR_PLACES = 320

t.test('averages of pairs are the nearest doubles', async (t) => {
  const counts = Array.from({ length: ROWS }, () => randomInteger(32))
  const firsts = new Float64Array(ROWS)
  const rests = new Float64Array(ROWS)
  for (const [i, count] of counts.entries()) {
    firsts[i] = randomDouble(random, 1023 - 40 + random.below(80))
    rests[i] = randomDouble(random, 1023 - 150 + random.below(190))
    if (i % 3 > 0) continue
    // A number of times an odd number of 54 bits, whose average is halfway between doubles, and what is next to it.
    const odd = (1n << 53n) | BigInt(2 * random.word() + 1)
    const total = odd * count + (i % 2 === 0 ? 0n : BigInt(random.below(3) - 1))
    firsts[i] = Number(total)
    rests[i] = Number(total - BigInt(firsts[i]!))
    if (random.chance(0.5)) [firsts[i], rests[i]] = [-firsts[i]!, -rests[i]!]
  }
  const pairs = await added(asPairs(firsts), asPairs(rests))
  const average = { uses: 'average_of_doubles', result: 'average_of_doubles(a, b.x)', left: 4 } as const
  const found = await averages(average, pairs.buffer, BigUint64Array.from(counts).buffer)
  const wanted = Float64Array.from(counts, (count, i) => {
    const total = exactly(pairs[2 * i]!) + exactly(pairs[2 * i + 1]!)
    return nearestQuotient(total >> BigInt(1074 - PAIR_PLACES), count, PAIR_PLACES)
  })
  check(t, found, bitsOf(wanted), (row) => `${pairs[2 * row]} and ${pairs[2 * row + 1]} / ${counts[row]}`)
})

t.test('averages of no numbers, and of what is not finite, are their sums', async (t) => {
  const values = Float64Array.of(0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN)
  const average = { uses: 'average_of_doubles', result: 'average_of_doubles(a, b.x)', left: 4 } as const
  const counts = BigUint64Array.from(values, (_, i) => BigInt(i))
  const found = await averages(average, bitsOf(asPairs(values)).buffer, counts.buffer)
  check(t, found, bitsOf(values), (row) => `${values[row]}`)
})
