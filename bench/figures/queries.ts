import { grid, type Table } from './table.js'

export const QUERIES: readonly Table[] = [
  grid({
    name: 'queries-tpch',
    files: ['nvidia-h200/tpch.txt'],
    corner: 'ms',
    lines: [
      ['this', 'ms'],
      ['DuckDB', 'DuckDB ms'],
    ],
    columns: [1, 3, 4, 5, 6, 12, 14].map((number) => [`Q${number}`, `Q${number}`] as const),
    cell: (kept, figure, question) => kept.figure(question, figure)?.toFixed(1) ?? '',
  }),
]
