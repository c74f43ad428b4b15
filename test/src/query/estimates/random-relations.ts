import type { Random } from '../../../random.js'
import { type Cell, type HostRelation, hostRelation } from '../host-relation.js'

/** Numbers from 0 to below `values`, of which number i comes as often as 1 / (i + 1)^exponent says. */
export function zipf(random: Random, values: number, exponent: number): () => number {
  const ends = new Float64Array(values)
  let sum = 0
  for (let i = 0; i < values; i++) {
    sum += 1 / (i + 1) ** exponent
    ends[i] = sum
  }
  return () => {
    const at = (random.word() / 2 ** 32) * sum
    let [low, high] = [0, values - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (ends[middle]! < at) low = middle + 1
      else high = middle
    }
    return low
  }
}

/**
 * A relation with a key (`id`) in no order, columns of few (`few`) and many (`many`) values, skewed ones (`zipf`, `half`: half of the rows have 7), one that
 * follows from another (`part` from `many`), with nulls (`hole`), of strings (`text`), and one whose rows lie in its order (`run`, 4 of each).
 */
export function randomRelation(random: Random, name: string, rows: number): HostRelation {
  const skewed = zipf(random, 5000, 1)
  const cells = (make: (row: number) => Cell) => Array.from({ length: rows }, (_, row) => make(row))
  const ids = cells((row) => row)
  for (let i = rows - 1; i > 0; i--) {
    const j = random.below(i + 1)
    ;[ids[i], ids[j]] = [ids[j]!, ids[i]!]
  }
  const many = cells(() => random.below(20_000))
  const column = (column: string, type: 'u32' | 'i32' | 'i64' | 'string', cells: readonly Cell[]) => {
    return { name: `${name}_${column}`, type, nullable: cells.includes(null), cells }
  }
  return hostRelation(name, [
    column('id', 'u32', ids),
    column(
      'few',
      'i32',
      cells(() => random.below(50) - 25),
    ),
    column('many', 'u32', many),
    column(
      'part',
      'u32',
      many.map((value) => Math.floor(Number(value) / 100)),
    ),
    column('zipf', 'u32', cells(skewed)),
    column(
      'half',
      'i64',
      cells(() => BigInt(random.chance(0.5) ? 7 : random.below(20_000))),
    ),
    column(
      'hole',
      'u32',
      cells(() => (random.chance(0.3) ? null : random.below(2000))),
    ),
    column(
      'text',
      'string',
      cells(() => `${name === 'a' ? 'x' : random.pick(['x', 'y'])}${random.below(300)}`),
    ),
    column(
      'run',
      'u32',
      cells((row) => Math.floor(row / 4)),
    ),
  ])
}
