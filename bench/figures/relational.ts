import { grid, type Table } from './table.js'

const FILES = ['nvidia-h200/relational.json']

/** As the kept file names the kernels of a CTA join. */
const MODULE = 'diamos/join'

/** Threads and tuples of each that Table 3 of the paper has for an algorithm. */
const PAPER_SHAPES: Readonly<Record<string, string>> = {
  network: '512 × 4',
  binarySearch: '512 × 1',
  blockedSearch: '512 × 4',
  hash: '512 × 4',
  bruteForce: '512 × 2',
}

/** Operators of Figure 9, as their rows are called. */
const OPERATORS = [
  ['SELECT of 10 %', 'SELECT 10 %, {}'],
  ['SELECT of 50 %', 'SELECT 50 %, {}'],
  ['SELECT of 90 %', 'SELECT 90 %, {}'],
  ['PROJECT', 'PROJECT, {}'],
  ['PRODUCT', 'PRODUCT, u32 × u32'],
  ['UNION', 'UNION, {}'],
  ['INTERSECT', 'INTERSECT, {}'],
  ['DIFFERENCE', 'DIFFERENCE, {}'],
  ['JOIN, half match', 'JOIN, half match, {}'],
  ['JOIN, all match', 'JOIN, all match, {}'],
] as const

export const RELATIONAL: readonly Table[] = [
  grid({
    name: 'relational-operators',
    files: FILES,
    corner: 'tuples of',
    lines: OPERATORS,
    columns: [
      ['u32: µs', ['u32', 'µs']],
      ['% of copy', ['u32', '% of copy']],
      ['query, ms', ['u32', 'ms']],
      ['u32 + u32: µs', ['u32 + u32', 'µs']],
      ['% of copy', ['u32 + u32', '% of copy']],
    ],
    cell: (kept, operator, [tuples, figure]) => {
      const row = `${operator.replace('{}', tuples)}, 2^24`
      return kept.has(row) && (operator.includes('{}') || tuples === 'u32') ? kept.show(row, figure) : ''
    },
  }),
  grid({
    name: 'relational-cta-joins',
    files: FILES,
    corner: 'algorithm | paper: cycles a result',
    lines: [
      ['network | 37', 'network'],
      ['binary search | 57', 'binarySearch'],
      ['register-blocked | 51', 'blockedSearch'],
      ['hash | 40', 'hash'],
      ['brute force | 228', 'bruteForce'],
    ],
    columns: [
      ['counting, µs', 'count'],
      ['writing, µs', 'write'],
      ['the whole JOIN, µs', 'all'],
      ['microbenchmark, ns', 'with prefix sum, ns a result'],
      ['matching, ns', 'matching, ns a result'],
    ],
    cell: (kept, algorithm, column) => {
      if (column.endsWith('a result'))
        return kept.show(`Table 3, ${algorithm}, ${PAPER_SHAPES[algorithm]}`, column)
      const row = `JOIN by ${algorithm}, u32 + u32, 2^24`
      if (column === 'all') return kept.show(row, 'µs')
      const kernel = column === 'write' ? 'write_matches' : 'count_matches'
      return kept.show(`${row}: ${MODULE} ${kernel}`, 'µs alone')
    },
  }),
]
