import type { ColumnType } from '../../../protocol/column-types.js'
import { randomTyped } from '../../column-values.js'
import type { Random } from '../../random.js'
import { type Cell, type HostColumn, type HostRelation, hostRelation } from './host-relation.js'

const WORDS = [
  '',
  'a',
  'ab',
  'abc',
  'b',
  'PROMO red',
  'PROMO blue',
  'ECONOMY red',
  'z',
  'é',
  'ÿ',
  '\u{1f600}',
  '\uffee',
]

/** A random value of a type, one of few, so that values repeat. */
export function randomCell(random: Random, type: ColumnType): Cell {
  const small = random.below(20)
  const extreme = random.chance(0.05)
  switch (type) {
    case 'u32':
      return extreme ? 2 ** 32 - 1 - small : small
    case 'i32':
      return extreme ? -(2 ** 31) + small : small - 10
    case 'f32':
      return extreme ? Math.fround((small - 10) * 1e30) : Math.fround((small - 10) / 4)
    case 'u64':
      return extreme ? 2n ** 64n - 1n - BigInt(small) : BigInt(small) << 30n
    case 'i64':
      return extreme ? -(2n ** 63n) + BigInt(small) : BigInt(small - 10) * 2n ** 31n
    case 'string':
      return random.pick(WORDS)
    default:
      return randomTyped(random, type)
  }
}

export function randomColumn(
  random: Random,
  name: string,
  type: ColumnType,
  rows: number,
  nulls: number,
  cellOf = randomCell,
): HostColumn {
  const cells = Array.from({ length: rows }, () => (random.chance(nulls) ? null : cellOf(random, type)))
  return { name, type, nullable: nulls > 0, cells }
}

/** A relation with a column of each type without nulls (u, i, f, ul, il, s, b, d, t, c, e, g) and one of each with them (nu, …). */
export function randomRelation(
  random: Random,
  name: string,
  rows: number,
  cellOf = randomCell,
): HostRelation {
  const types: readonly (readonly [string, ColumnType])[] = [
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
  return hostRelation(name, [
    { name: 'id', type: 'u32', nullable: false, cells: Array.from({ length: rows }, (_, i) => i) },
    ...types.map(([column, type]) => randomColumn(random, column, type, rows, 0, cellOf)),
    ...types.map(([column, type]) => randomColumn(random, `n${column}`, type, rows, 0.2, cellOf)),
  ])
}
