import { grid, type Table } from './table.js'

const FILES = ['nvidia-h200/joins.json']

/** Forms of joins that were tried, and that the server does not have. */
const VARIANTS = ['nvidia-h200/joins-variants.json']

const ALGORITHMS = [
  ['INLJ', 'inlj'],
  ['SMJ', 'smj'],
  ['HJ', 'hj'],
] as const

export const JOINS: readonly Table[] = [
  grid({
    name: 'joins-algorithms',
    files: FILES,
    lines: [
      ['INLJ', '16 M ⋈ 16 M: inlj'],
      ['INLJ, the right side is in order', '16 M ⋈ 16 M: inlj, the right side is in order'],
      ['SMJ', '16 M ⋈ 16 M: smj'],
      ['SMJ, both sides are in order', '16 M ⋈ 16 M: smj, both sides are in order'],
      ['HJ', '16 M ⋈ 16 M: hj'],
      ['NINLJ, 1 M ⋈ 1 M', '1 M ⋈ 1 M: ninlj'],
      ['DuckDB, 16 cores', '16 M ⋈ 16 M: DuckDB'],
      ['hash join in TypeScript, one core', '16 M ⋈ 16 M: hash join in TypeScript'],
    ],
    columns: [
      ['kernels, ms', 'kernels ms'],
      ['wall, ms', 'wall ms'],
      ['times as fast as DuckDB', 'to DuckDB'],
      ['as TypeScript', 'to TypeScript'],
      ['u64 keys: kernels, ms', 'u64'],
    ],
    cell: (kept, row, column) => {
      const wide = row.replace('16 M:', '16 M, u64:')
      if (column === 'u64') return wide !== row && kept.has(wide) ? kept.show(wide, 'kernels ms') : ''
      // What runs on the host has one time.
      return kept.show(row, column) || (column === 'wall ms' ? kept.show(row, 'ms') : '')
    },
  }),
  grid({
    name: 'joins-stages',
    files: FILES,
    corner: 'ms',
    lines: [
      ['INLJ', 'Figure 12, inlj, ms'],
      ['SMJ', 'Figure 12, smj, ms'],
      ['HJ', 'Figure 12, hj, ms'],
    ],
    columns: [
      ['sort', 'sort'],
      ['hash, find partitions', 'partition'],
      ['index', 'index'],
      ['match', 'match'],
      ['sum of counts', 'count'],
      ['list or scan', 'scan'],
      ['write', 'write'],
      ['all', 'all'],
    ],
    cell: (kept, row, stage) => kept.show(row, stage),
  }),
  grid({
    name: 'joins-search',
    files: VARIANTS,
    lines: [
      ['CSS-tree, sequential search in nodes', 'directory, sequential search in nodes'],
      ['CSS-tree, binary search in nodes', 'directory, binary search in nodes'],
      ['binary search of the sorted array', 'binary search of the whole array'],
      ['table of buckets, then binary', 'buckets'],
      ['CSS-tree, sequential, probes by one leading byte', 'sequential, probes by one leading byte'],
      ['CSS-tree, binary, probes by one leading byte', 'directory, probes by one leading byte'],
      ['buckets, probes by one leading byte', 'buckets, probes by one leading byte'],
      ['CSS-tree, binary, probes by two leading bytes', 'directory, probes by two leading bytes'],
      ['sorted array, probes by two leading bytes', 'array, probes by two leading bytes'],
      ['buckets, probes by two leading bytes', 'buckets, probes by two leading bytes'],
    ],
    columns: [
      ['search, ms', 'search ms'],
      ['order, ms', 'order ms'],
      ['write, ms', 'write ms'],
      ['all, ms', 'kernels ms'],
    ],
    cell: (kept, way, figure) => kept.show(`Figure 11, ${way}`, figure),
  }),
  grid({
    name: 'joins-selectivity',
    files: FILES,
    lines: [
      ...([0, 0.25, 0.5, 0.75, 1] as const).map(
        (share) => [`${100 * share} % of left rows match`, `selectivity ${share}`] as const,
      ),
      ...([0.25, 0.5, 0.75, 1] as const).map(
        (share) => [`${100 * share} % of left rows have one key`, `duplicates ${share}`] as const,
      ),
    ],
    columns: [...ALGORITHMS, ['TypeScript, ms', 'host']],
    cell: (kept, row, algorithm) => {
      const name = `Figure 13, 4 M, ${row}`
      if (algorithm === 'host') return kept.show(name, 'host ms')
      return `${kept.show(name, `${algorithm} ms`)} (${kept.show(name, `${algorithm} speedup`)}×)`
    },
  }),
  grid({
    name: 'joins-coalescing',
    files: FILES,
    corner: 'workgroups, words',
    lines: [
      ['map, 16 of 32, 4 M', 'map by 16 × 32, 2^22'],
      ['map, 16 of 32, 16 M', 'map by 16 × 32, 2^24'],
      ['map, 4,096 of 256, 16 M', 'map by 4096 × 256, 2^24'],
      ['gather, 4,096 of 256, 16 M', 'gather by 4096 × 256, 2^24'],
      ['scatter, 4,096 of 256, 16 M', 'scatter by 4096 × 256, 2^24'],
    ],
    columns: [
      ['coalesced, GB/s', 'coalesced GB/s'],
      ['not, GB/s', 'not coalesced GB/s'],
      ['times as fast', 'times as fast'],
    ],
    cell: (kept, work, figure) => kept.show(`Figure 7, ${work}`, figure),
  }),
  grid({
    name: 'joins-workgroups',
    files: FILES,
    corner: 'workgroups of 32',
    lines: [
      ['map, µs', 'map µs'],
      ['split into 16, µs', 'split µs'],
    ],
    columns: [16, 64, 256, 1024, 4096, 8192].map((groups) => [groups.toLocaleString('en'), groups] as const),
    cell: (kept, figure, groups) => kept.show(`Figure 8, ${groups} × 32, 2^24`, figure),
  }),
  grid({
    name: 'joins-invocations',
    files: FILES,
    corner: 'invocations of a workgroup',
    lines: [
      ['map by 8,192 workgroups, µs', 'map by 8192'],
      ['split by 8,192 workgroups, µs', 'split by 8192'],
    ],
    columns: [32, 64, 128, 256, 512, 1024].map((size) => [size.toLocaleString('en'), size] as const),
    cell: (kept, work, size) =>
      kept.show(`Figure 9, ${work} × ${size}, 2^24`, `${work.replace(/ .*/, '')} µs`),
  }),
  grid({
    name: 'joins-memory',
    files: FILES,
    lines: [
      ["the paper's split into 16", 'thread split'],
      ['prefix scan', 'prefix scan'],
      ['split into 64', 'split'],
      ['radix sort, u32', 'radix sort'],
      ['quicksort', 'quicksort'],
      ['bitonic sort of segments of 1,024', 'bitonic sort of segments of 1024'],
    ],
    columns: [
      ['without, ms', ['serial µs', 'without µs']],
      ['in workgroup memory, ms', ['cooperative µs', 'with µs']],
      ['times as fast', ['times as fast']],
      ['by subgroups, in registers, ms', ['subgroups µs']],
    ],
    cell: (kept, work, figures) => {
      const cells = figures.map((figure) =>
        kept.show(`Figure 10, ${work}, 2^24`, figure, figure.endsWith('µs') ? 1e-3 : 1),
      )
      return cells.find((cell) => cell !== '') ?? ''
    },
  }),
  grid({
    name: 'joins-strings',
    files: FILES,
    corner: 'strings of',
    lines: ['random letters', 'behind 24 common bytes'].flatMap((kind) =>
      [8, 16, 32, 64].map((letters) => {
        const row = `${kind}, ${letters} on average`
        return [
          row.replace(/(.*), (\d+).*/, '$2 letters on average, $1').replace(', random letters', ''),
          row,
        ] as const
      }),
    ),
    columns: [
      ['kernels, ms', 'kernels ms'],
      ['wall, ms', 'wall ms'],
      ['one core of the host, ms', 'host ms'],
    ],
    cell: (kept, row, figure) => kept.show(`Figure 15, ${row}, 4194304`, figure),
  }),
  grid({
    name: 'joins-tried',
    files: VARIANTS,
    lines: [
      ...[14, 15, 16].map((bits) => [`HJ, 2^${bits} partitions`, `hj, 2^${bits} partitions, ms`] as const),
      ...ALGORITHMS.map(
        ([label, name]) => [`${label}, places by a scan`, `${name}, places by a scan, ms`] as const,
      ),
      ...ALGORITHMS.flatMap(([label, name]) =>
        ['left', 'right'].map(
          (side) =>
            [
              `${label}, 1 M ⋈ 16 M, built on the ${side}`,
              `1 M ⋈ 16 M: ${name}, built on the ${side}`,
            ] as const,
        ),
      ),
    ],
    columns: [['kernels, ms', ['all', 'kernels ms']]],
    cell: (kept, row, figures) =>
      figures.map((figure) => kept.show(row, figure)).find((cell) => cell !== '') ?? '',
  }),
]
