import { grid, type Table } from './table.js'

const FILES = ['nvidia-h200/joins.json']

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
    files: FILES,
    corner: 'kernels that match',
    lines: [
      ['INLJ', 'inlj'],
      ['SMJ', 'smj'],
      ['HJ', 'hj'],
    ],
    columns: [
      ['sequential, ms', 'sequential ms'],
      ['binary, ms', 'binary ms'],
      ['times as fast', 'times as fast'],
    ],
    cell: (kept, algorithm, figure) => kept.show(`Figure 11, ${algorithm}, 16 M`, figure),
  }),
  grid({
    name: 'joins-sizes',
    files: FILES,
    lines: ['1 M', '16 M'].map((size) => [size, size]),
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
