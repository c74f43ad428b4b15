import { grid, type Table } from './table.js'

const FILES = ['nvidia-h200/relational.json']

const DISTRIBUTIONS = ['uniform', 'normal', 'Pareto, shape 1', 'Pareto, shape 3'].map(
  (name) => [name, name] as const,
)

const SIZES = [13, 14, 16, 18, 20, 22, 24].map((logarithm) => [`2^${logarithm}`, logarithm] as const)

/** Results of a join in which half of 2^24 tuples match. */
const RESULTS = 2 ** 23

/** As the kept file names the kernels of a CTA join. */
const MODULE = 'diamos/join'

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
    corner: '2^24 tuples',
    lines: OPERATORS,
    columns: [
      ['u32: µs', ['u32', 'µs']],
      ['GB/s', ['u32', 'GB/s']],
      ['% of copy', ['u32', '% of copy']],
      ['query, ms', ['u32', 'ms']],
      ['u32 + u32: µs', ['u32 + u32', 'µs']],
      ['GB/s', ['u32 + u32', 'GB/s']],
      ['% of copy', ['u32 + u32', '% of copy']],
      ['query, ms', ['u32 + u32', 'ms']],
    ],
    cell: (kept, operator, [tuples, figure]) => {
      const row = `${operator.replace('{}', tuples)}, 2^24`
      return kept.has(row) && (operator.includes('{}') || tuples === 'u32') ? kept.show(row, figure) : ''
    },
  }),
  grid({
    name: 'relational-pairs',
    files: FILES,
    corner: 'keys',
    lines: DISTRIBUTIONS,
    columns: [
      ['pairs that are not empty', 'pairs'],
      ['mean', 'mean'],
      ['least', 'least'],
      ['most', 'most'],
      ['deviation, %', 'deviation %'],
    ],
    cell: (kept, keys, figure) => kept.show(`partition, ${keys}, 2^22`, figure),
  }),
  ...(
    [
      ['partition-discarded', 'partition', 'discarded %', 'discarded, %'],
      ['partition-time', 'partition', 'µs', 'µs'],
      ['stream-discarded', 'stream blocks', 'discarded %', 'discarded, %'],
      ['stream-rate', 'stream blocks', '% of copy', '% of copy'],
    ] as const
  ).map(([name, stage, figure, corner]) =>
    grid({
      name: `relational-${name}`,
      files: FILES,
      corner,
      lines: DISTRIBUTIONS,
      columns: SIZES,
      cell: (kept, keys, logarithm) => kept.show(`${stage}, ${keys}, 2^${logarithm}`, figure),
    }),
  ),
  grid({
    name: 'relational-cta-joins',
    files: FILES,
    corner: 'algorithm | the paper, cycles a result',
    lines: [
      ['join network | 37', 'network'],
      ['binary search | 57', 'binarySearch'],
      ['register-blocked binary search | 51', 'blockedSearch'],
      ['hash | 40', 'hash'],
      ['brute force | 228', 'bruteForce'],
    ],
    columns: [
      ['counting, µs', 'count'],
      ['counting, ps a result', 'each'],
      ['writing, µs', 'write'],
      ['the whole JOIN, µs', 'all'],
    ],
    cell: (kept, algorithm, column) => {
      const row = `JOIN by ${algorithm}, u32 + u32, 2^24`
      if (column === 'all') return kept.show(row, 'µs')
      const kernel = column === 'write' ? 'write_matches' : 'count_matches'
      return kept.show(`${row}: ${MODULE} ${kernel}`, 'µs alone', column === 'each' ? 1e6 / RESULTS : 1)
    },
  }),
]
