/** Bits of a double's mantissa, and the exponent of the last one of the smallest. */
const MANTISSA = 53
const LEAST = -1074

/** The f64 that is nearest to a quotient of whole numbers, of two that are as near the even one; neither is rounded before. */
export function nearestDouble(numerator: bigint, denominator: bigint): number {
  if (numerator === 0n) return 0
  const isNegative = numerator < 0n !== denominator < 0n
  const [a, b] = [magnitude(numerator), magnitude(denominator)]
  let exponent = Math.max(bits(a) - bits(b) - MANTISSA, LEAST)
  // The quotient may have a bit less or more than the lengths say.
  if (bits(scaled(a, b, exponent).quotient) > MANTISSA) exponent++
  const { quotient, rest, divisor } = scaled(a, b, exponent)
  const isUp = 2n * rest > divisor || (2n * rest === divisor && quotient % 2n === 1n)
  const size = Number(quotient + (isUp ? 1n : 0n)) * 2 ** exponent
  return isNegative ? -size : size
}

function scaled(a: bigint, b: bigint, exponent: number) {
  const [dividend, divisor] = exponent < 0 ? [a << BigInt(-exponent), b] : [a, b << BigInt(exponent)]
  return { quotient: dividend / divisor, rest: dividend % divisor, divisor }
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value
}

function bits(value: bigint): number {
  return value.toString(2).length
}

/** An f32 as a whole number of the smallest ones: 2^-149. */
export function inSmallest(value: number): bigint {
  const [word] = new Uint32Array(Float32Array.of(value).buffer)
  const field = (word! >> 23) & 255
  const fraction = BigInt(word! & 0x7fffff)
  const size = field === 0 ? fraction : (fraction + 2n ** 23n) << BigInt(field - 1)
  return value < 0 ? -size : size
}
