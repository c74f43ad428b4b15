import type { Random } from '../../../random.js'

/** Doubles where something changes: zeros, subnormals, the ends of ranges, halves, powers of two, infinities and NaN. */
export const SPECIAL_DOUBLES: readonly number[] = [
  0,
  Number.MIN_VALUE,
  2 * Number.MIN_VALUE,
  3 * Number.MIN_VALUE,
  2 ** -1023,
  2 ** -1022 - 2 ** -1074,
  2 ** -1022,
  2 ** -1022 + 2 ** -1074,
  2 ** -1021,
  2 ** -538,
  2 ** -537,
  2 ** -150,
  2 ** -149,
  2 ** -149 + 2 ** -150,
  2 ** -126,
  2 ** -126 - 2 ** -150,
  2 ** -53,
  2 ** -53 + 2 ** -105,
  2 ** -52,
  0.1,
  1 / 3,
  0.5,
  1 - 2 ** -53,
  1,
  1 + 2 ** -52,
  1 + 2 ** -24,
  1 + 3 * 2 ** -24,
  1.5,
  2 - 2 ** -52,
  2,
  3,
  10,
  2 ** 32,
  2 ** 52 + 0.5,
  2 ** 53 - 1,
  2 ** 53,
  2 ** 53 + 2,
  2 ** 63,
  2 ** 64,
  1e22,
  2 ** 128 - 2 ** 104,
  2 ** 128 - 2 ** 103,
  2 ** 128,
  2 ** 511,
  2 ** 512,
  2 ** 971,
  2 ** 1023,
  Number.MAX_VALUE / 2,
  Number.MAX_VALUE - 2 ** 971,
  Number.MAX_VALUE,
  Number.POSITIVE_INFINITY,
  Number.NaN,
].flatMap((value) => [value, -value])

const view = new DataView(new ArrayBuffer(8))

/** A double of its bits. */
function doubleOf(sign: number, exponent: number, high: number, low: number): number {
  view.setUint32(0, ((sign << 31) | (exponent << 20) | (high & 0xfffff)) >>> 0)
  view.setUint32(4, low)
  return view.getFloat64(0)
}

/** A double with an exponent field: random bits, few bits set, or nearly all. */
export function randomDouble(random: Random, exponent: number): number {
  let high = random.word()
  let low = random.word()
  const kind = random.below(8)
  if (kind === 0) low = 0
  if (kind === 1) [high, low] = [0, 1 << random.below(32)]
  if (kind === 2) [high, low] = [-1, ~(1 << random.below(32))]
  if (kind === 3) [high, low] = [1 << random.below(20), random.below(4)]
  return doubleOf(random.below(2), exponent & 2047, high, low >>> 0)
}

type Pair = readonly [number, number]

/** Pairs of one kind; each kind is hard for some operation. */
const PAIRS: readonly ((random: Random) => Pair)[] = [
  // Any bits.
  (random) => [randomDouble(random, random.word()), randomDouble(random, random.word())],
  // Near exponents, and such that one number reaches just into, or just past, the last place of the other.
  (random) => {
    const exponent = random.below(2047)
    return [randomDouble(random, exponent), randomDouble(random, exponent + random.below(5) - 2)]
  },
  (random) => {
    const exponent = 60 + random.below(1986)
    return [randomDouble(random, exponent), randomDouble(random, exponent - 50 - random.below(8))]
  },
  // Neighbours, of which almost all cancels out, and whose quotient is almost 1.
  (random) => {
    const value = randomDouble(random, random.below(2047))
    view.setFloat64(0, value)
    view.setUint32(4, view.getUint32(4) + random.below(9) - 4)
    return [value, random.chance(0.5) ? view.getFloat64(0) : -view.getFloat64(0)]
  },
  // Halves of a last place: sums with an odd or even neighbour.
  (random) => {
    const exponent = 54 + random.below(1990)
    const half = doubleOf(random.below(2), exponent - 53, 0, random.below(3))
    return [randomDouble(random, exponent), half]
  },
  // Products and quotients that are subnormal, or nearly so.
  (random) => {
    const exponent = random.below(1080)
    return [randomDouble(random, exponent), randomDouble(random, 1023 - exponent - 56 + random.below(60))]
  },
  (random) => {
    const exponent = random.below(1023)
    return [randomDouble(random, exponent), randomDouble(random, exponent + 1023 - 4 + random.below(60))]
  },
  // Those that are as large as there are, or too large.
  (random) => {
    const exponent = 1023 + random.below(1024)
    return [randomDouble(random, exponent), randomDouble(random, 3069 - exponent + random.below(3))]
  },
  // Short factors, whose products and quotients are exact or lie halfway.
  (random) => [shortDouble(random), shortDouble(random)],
  (random) => {
    const factor = shortDouble(random)
    return [factor * (1 + random.below(2 ** 26)), random.chance(0.5) ? factor : shortDouble(random)]
  },
  // Subnormal numbers and normal ones.
  (random) => [
    randomDouble(random, random.below(2)),
    randomDouble(random, random.below(random.pick([3, 2047]))),
  ],
]

/** A number of up to 27 bits, times a power of two. */
function shortDouble(random: Random): number {
  const sign = random.chance(0.5) ? 1 : -1
  return sign * (1 + random.below(2 ** (1 + random.below(27)))) * 2 ** (random.below(200) - 100)
}

/** At least so many pairs of doubles, each special one with each special one first. */
export function doublePairs(
  random: Random,
  count: number,
): readonly [Float64Array<ArrayBuffer>, Float64Array<ArrayBuffer>] {
  const a = new Float64Array(count)
  const b = new Float64Array(count)
  const specials = SPECIAL_DOUBLES.length
  for (let i = 0; i < count; i++) {
    const kind = PAIRS[i % PAIRS.length]!
    const [x, y] =
      i < specials ** 2
        ? [SPECIAL_DOUBLES[Math.floor(i / specials)]!, SPECIAL_DOUBLES[i % specials]!]
        : kind(random)
    a[i] = x
    b[i] = y
  }
  return [a, b]
}
