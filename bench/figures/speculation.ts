import { grid, type Table } from './table.js'

const FILES = ['speculation/nvidia-h200/figures.json']

const WAYS = [
  ['speculative, serial', 'speculative serial'],
  ['hierarchical, serial', 'hierarchical serial'],
  ['directed, reversed', 'directed reversed'],
  ['naive, a thread a key', 'naive'],
  ['sequential, compact', 'sequential, compact'],
  ['directed reversed, compact', 'directed reversed, compact'],
] as const

export const SPECULATION: readonly Table[] = [
  grid({
    name: 'speculation-batches',
    files: FILES,
    corner: 'µs',
    lines: [...WAYS, ['sequential, one CPU core', 'sequential, CPU']],
    columns: [
      ['1 key', 1],
      ['4,096', 4096],
      ['65,536', 65_536],
      ['2^20', 2 ** 20],
    ],
    cell: (kept, way, batch) => kept.show(`8a random, 100000 keys, batch ${batch}`, way),
  }),
  grid({
    name: 'speculation-small',
    files: FILES,
    corner: 'µs, one random key',
    lines: [
      ['sequential', 'sequential'],
      ['speculative, serial', 'speculative serial'],
    ],
    columns: [
      ['100 keys', '100 keys, batch 1'],
      ['300 keys', '300 keys, batch 1'],
      ['1,000 keys', '1000 keys, batch 1'],
      ['64 of 1,000 keys', '1000 keys, batch 64'],
      ['256 of 1,000 keys', '1000 keys, batch 256'],
    ],
    cell: (kept, way, keys) => kept.show(`8a random, ${keys}`, way),
  }),
]
