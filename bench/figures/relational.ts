import { grid, type Table } from './table.js'

const FILES = ['nvidia-h200/relational.json']

const BOTH = ['u32', 'u32 + u32'] as const

/** An operator's two kinds of tuples, with the paper's share of peak bandwidth. */
function lines(label: string, row: string, paper: string): (readonly [string, string])[] {
  return BOTH.map((tuples) => [`${label} | ${tuples} | ${paper}`, `${row}, ${tuples}, 2^24`] as const)
}

const DISTRIBUTIONS = ['uniform', 'normal', 'Pareto, shape 1', 'Pareto, shape 3'].map(
  (name) => [name, name] as const,
)

const SIZES = [13, 14, 16, 18, 20, 22, 24].map((logarithm) => [`2^${logarithm}`, logarithm] as const)

/** Results of a join in which half of 2^24 tuples match. */
const RESULTS = 2 ** 23

export const RELATIONAL: readonly Table[] = [
  grid({
    name: 'relational-operators',
    files: FILES,
    corner: 'operator | tuples | the paper, % of peak',
    lines: [
      ['PRODUCT, 16 M out | u32 × u32 | 99', 'PRODUCT, u32 × u32, 2^24'],
      ...lines('PROJECT, key order kept', 'PROJECT', '86 to 92'),
      ['PROJECT that turns the key, with its sort | u32 | ', 'PROJECT and sort, u32, 2^24'],
      ...[10, 50, 90].flatMap((share) => lines(`SELECT of ${share} %`, `SELECT ${share} %`, '86 to 92')),
      ...lines('UNION, half of the keys match', 'UNION', 'as JOIN'),
      ...lines('INTERSECT', 'INTERSECT', 'as JOIN'),
      ...lines('DIFFERENCE', 'DIFFERENCE', 'as JOIN'),
      ...lines('JOIN, half of the keys match', 'JOIN, half match', '57'),
      ...lines('JOIN, all match', 'JOIN, all match', '72'),
      ...lines('JOIN into pages, half match', 'JOIN into pages, half match', ''),
    ],
    columns: ['µs', 'GB/s', '% of copy'].map((figure) => [figure, figure] as const),
    cell: (kept, row, figure) => kept.show(row, figure),
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
      ['search (default) | ', 'search'],
    ],
    columns: [
      ['counting, µs', 'count'],
      ['counting, ps a result', 'each'],
      ['writing, µs', 'write'],
      ['the whole JOIN, µs', 'all'],
    ],
    cell: (kept, algorithm, column) => {
      const row = `JOIN by ${algorithm}, u32 + u32, 2^24`
      const kernels = algorithm === 'search' ? 'relational/algebra/join-by-search' : 'relational/algebra/join'
      if (column === 'all') return kept.show(row, 'µs')
      const kernel = column === 'write' ? 'write_matches' : 'count_matches'
      return kept.show(`${row}: ${kernels} ${kernel}`, 'µs alone', column === 'each' ? 1e6 / RESULTS : 1)
    },
  }),
]
