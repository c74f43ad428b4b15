import type { ColumnType } from '../../../protocol/column-types.js'
import { formatText } from '../../../protocol/value-texts.js'
import type { Random } from '../../random.js'
import type { Cell, HostRelation } from '../query/host-relation.js'
import { randomRelation } from '../query/relations.js'

const WORDS = ['', 'a', 'ab', 'b', 'PROMO red', 'PROMO blue', 'ECONOMY red', 'z', 'é', '\u{1f600}']

/** A value of which there are few, so that they meet, and none so large that a sum or a product overflows in DuckDB, which counts in 32 bits. */
function tameCell(random: Random, type: ColumnType): Cell {
  const small = random.below(20)
  switch (type) {
    case 'u32':
      return small
    case 'i32':
      return small - 10
    case 'u64':
      return BigInt(small) << 20n
    case 'i64':
      return BigInt(small - 10) << 20n
    case 'f32':
    case 'f64':
      return (small - 10) / 4
    case 'string':
      return random.pick(WORDS)
    case 'boolean':
      return random.chance(0.5)
    case 'date':
      return formatText(BigInt(8000 + 97 * small), type)
    case 'timestamp':
      return formatText(
        BigInt(8000 + 97 * small) * 86_400_000_000n + BigInt(random.below(3)) * 43_200_000_000n,
        type,
      )
    default:
      return formatText(BigInt(7 * (small - 10)), type)
  }
}

/** As `randomRelation`, of such values. */
export function tameRelation(random: Random, name: string, rows: number): HostRelation {
  return randomRelation(random, name, rows, tameCell)
}
