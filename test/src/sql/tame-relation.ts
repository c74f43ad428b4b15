import type { ColumnType } from '../../../protocol/column-types.js'
import { formatText } from '../../../protocol/value-texts.js'
import type { Random } from '../../random.js'
import { type Cell, type HostRelation, hostRelation } from '../query/host-relation.js'

const WORDS = ['', 'a', 'ab', 'b', 'PROMO red', 'PROMO blue', 'ECONOMY red', 'z', 'é', '\u{1f600}']

const TYPES: readonly (readonly [name: string, ColumnType])[] = [
  ['u', 'u32'],
  ['i', 'i32'],
  ['f', 'f32'],
  ['ul', 'u64'],
  ['il', 'i64'],
  ['s', 'string'],
  ['b', 'boolean'],
  ['d', 'date'],
  ['t', 'timestamp'],
  ['c', 'decimal(12,2)'],
  ['e', 'decimal(9,4)'],
  ['g', 'f64'],
]

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

/** A relation with a number, a column of each type without nulls (u, i, …), and one of each with them (nu, ni, …). */
export function tameRelation(random: Random, name: string, rows: number): HostRelation {
  const column = (name: string, type: ColumnType, nulls: number) => ({
    name,
    type,
    nullable: nulls > 0,
    cells: Array.from({ length: rows }, () => (random.chance(nulls) ? null : tameCell(random, type))),
  })
  return hostRelation(name, [
    { name: 'id', type: 'u32', nullable: false, cells: Array.from({ length: rows }, (_, i) => i) },
    ...TYPES.map(([name, type]) => column(name, type, 0)),
    ...TYPES.map(([name, type]) => column(`n${name}`, type, 0.2)),
  ])
}
