import type { ColumnType } from '../protocol/column-types.js'
import { formatText } from '../protocol/value-texts.js'
import type { Random } from './random.js'

/** A random value of a type that is neither an integer, nor f32, nor string, one of few; rarely an extreme one. */
export function randomTyped(random: Random, type: ColumnType): boolean | number | string {
  const small = random.below(20)
  const isExtreme = random.chance(0.05)
  switch (type) {
    case 'boolean':
      return random.chance(0.5)
    case 'f64':
      return isExtreme ? (small - 10) * 1e300 : (small - 10) / 3
    case 'date':
      return formatText(BigInt(isExtreme ? (small - 10) * 20_000 : 10_000 + small), type)
    case 'timestamp':
      return formatText(BigInt(small - 10) * (isExtreme ? 10n ** 15n : 3_600_000_001n), type)
    default:
      // No more digits than the narrowest decimals of tests have.
      return formatText(BigInt(small - 10) * (isExtreme ? 99_999n : 125n), type)
  }
}
