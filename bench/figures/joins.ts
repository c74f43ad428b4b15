import { grid, type Table } from './table.js'

const FILES = ['nvidia-h200/joins.json']

/** Forms of joins that were tried, and that the server does not have. */
const VARIANTS = ['nvidia-h200/joins-variants.json']

export const JOINS: readonly Table[] = [
  grid({
    name: 'joins-algorithms',
    files: FILES,
    lines: [
      ['INLJ', '16 M ⋈ 16 M: inlj'],
      ['INLJ, right side in order', '16 M ⋈ 16 M: inlj, the right side is in order'],
      ['SMJ', '16 M ⋈ 16 M: smj'],
      ['SMJ, both in order', '16 M ⋈ 16 M: smj, both sides are in order'],
      ['HJ', '16 M ⋈ 16 M: hj'],
      ['NINLJ, 1 M ⋈ 1 M', '1 M ⋈ 1 M: ninlj'],
      ['DuckDB, 16 cores', '16 M ⋈ 16 M: DuckDB'],
      ['TypeScript, one core', '16 M ⋈ 16 M: hash join in TypeScript'],
    ],
    columns: [
      ['kernels, ms', 'kernels ms'],
      ['wall, ms', 'wall ms'],
      ['to DuckDB', 'to DuckDB'],
      ['u64: kernels, ms', 'u64'],
    ],
    cell: (kept, row, column) => {
      const wide = row.replace('16 M:', '16 M, u64:')
      if (column === 'u64') return wide !== row && kept.has(wide) ? kept.show(wide, 'kernels ms') : ''
      // What runs on the host has one time.
      return kept.show(row, column) || (column === 'wall ms' ? kept.show(row, 'ms') : '')
    },
  }),
  grid({
    name: 'joins-search',
    files: VARIANTS,
    lines: [
      ['CSS-tree, sequential search in nodes', 'directory, sequential search in nodes'],
      ['CSS-tree, binary search in nodes', 'directory, binary search in nodes'],
      ['binary, probes by one leading byte', 'directory, probes by one leading byte'],
      ['buckets, probes by one leading byte', 'buckets, probes by one leading byte'],
    ],
    columns: [
      ['search, ms', 'search ms'],
      ['all, ms', 'kernels ms'],
    ],
    cell: (kept, way, figure) => kept.show(`Figure 11, ${way}`, figure),
  }),
  grid({
    name: 'joins-sizes',
    files: FILES,
    lines: ['1 M', '4 M', '16 M'].map((size) => [size, size]),
    columns: [
      ['INLJ, ms', 'inlj'],
      ['SMJ, ms', 'smj'],
      ['HJ, ms', 'hj'],
    ],
    cell: (kept, size, join) => kept.show(`|R| = 16 M, |S| = ${size}, ${join}`, 'ms'),
  }),
  grid({
    name: 'joins-bands',
    files: FILES,
    lines: ['0', '16'].map((more) => [more, `band, 1 M, ${more} more matches a row`]),
    columns: [
      ['NINLJ, ms', 'ninlj ms'],
      ['INLJ, ms', 'inlj ms'],
    ],
    cell: (kept, row, figure) => kept.show(row, figure),
  }),
  grid({
    name: 'joins-memory',
    files: FILES,
    lines: [
      ["the paper's split", 'thread split'],
      ['prefix scan', 'prefix scan'],
      ['split into 64', 'split'],
      ['radix sort, u32', 'radix sort'],
      ['quicksort', 'quicksort'],
      ['bitonic sort', 'bitonic sort'],
    ],
    columns: [
      ['without, ms', ['serial µs', 'without µs']],
      ['with, ms', ['cooperative µs', 'with µs']],
      ['times as fast', ['times as fast']],
      ['by subgroups, ms', ['subgroups µs']],
    ],
    cell: (kept, work, figures) => {
      const cells = figures.map((figure) =>
        kept.show(`Figure 10, ${work}, 2^24`, figure, figure.endsWith('µs') ? 1e-3 : 1),
      )
      return cells.find((cell) => cell !== '') ?? ''
    },
  }),
]
