/** Sets of numbers below 32, a bit each. */
export function maskOf(numbers: readonly number[]): number {
  return numbers.reduce((mask, number) => mask | (1 << number), 0)
}

/** The lowest number of a set. */
export function lowest(mask: number): number {
  return 31 - Math.clz32(mask & -mask)
}

/** The numbers of a set, ascending. */
export function numbersOf(mask: number): number[] {
  const numbers: number[] = []
  for (let left = mask; left !== 0; left &= left - 1) numbers.push(lowest(left))
  return numbers
}

/** How many numbers a set has. */
export function sizeOf(mask: number): number {
  const pairs = mask - ((mask >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
