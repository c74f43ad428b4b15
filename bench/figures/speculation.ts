import { grid, type Table } from './table.js'

const FILES = ['speculation/nvidia-h200/figures.json']

const WAYS = [
  ['speculative, serial', 'speculative serial'],
  ['speculative, reversed', 'speculative reversed'],
  ['hierarchical, serial', 'hierarchical serial'],
  ['directed, reversed', 'directed reversed'],
  ['naive, a thread a key', 'naive'],
  ['sequential, compact', 'sequential, compact'],
  ['directed reversed, compact', 'directed reversed, compact'],
] as const

const HEIGHTS = [2, 4, 8, 11, 16, 32, 45, 64]

export const SPECULATION: readonly Table[] = [
  grid({
    name: 'speculation-batches',
    files: FILES,
    corner: 'µs',
    lines: [...WAYS, ['sequential, one CPU core', 'sequential, CPU']],
    columns: [
      ['1 key', 1],
      ['64', 64],
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
  grid({
    name: 'speculation-large',
    files: FILES,
    corner: 'µs, keys of a batch',
    lines: [
      ["sequential, as the planner's choice", 'planner'],
      ['directed, reversed (a)', '8a'],
    ],
    columns: [2 ** 14, 2 ** 16, 2 ** 18, 2 ** 20].map(
      (batch) => [batch.toLocaleString('en'), batch] as const,
    ),
    cell: (kept, suite, batch) =>
      suite === 'planner'
        ? kept.show(`planner random, full, 100000 keys, batch ${batch}`, 'measured')
        : kept.show(`8a random, 100000 keys, batch ${batch}`, 'directed reversed'),
  }),
  grid({
    name: 'speculation-heights',
    files: FILES,
    corner: 'µs',
    lines: [
      ['sequential', 'sequential'],
      ['speculative, serial', 'speculative serial'],
      ['speculative, reversed', 'speculative reversed'],
      ['hierarchical, serial', 'hierarchical serial'],
      ['directed, serial', 'directed serial'],
      ['directed, reversed', 'directed reversed'],
    ],
    columns: HEIGHTS.map((levels) => [`m = ${levels}`, levels] as const),
    cell: (kept, way, levels) => kept.show(`8d random, 100000 keys, m = ${levels}`, way),
  }),
  grid({
    name: 'speculation-minimal',
    files: FILES,
    corner: 'µs for one key of the minimal tree',
    lines: [
      ['speculative, serial', 'speculative serial'],
      ['hierarchical, serial', 'hierarchical serial'],
    ],
    columns: [300, 3000, 10_000, 30_000].map((keys) => [`${keys.toLocaleString('en')} keys`, keys] as const),
    cell: (kept, way, keys) => kept.show(`8b minimal, ${keys} keys, batch 1`, way),
  }),
  grid({
    name: 'speculation-memory',
    files: FILES,
    corner: 'MB',
    lines: ['random', 'minimal', 'addresses'].flatMap((set) =>
      ['full, on demand', 'full, coalesced', 'compact', 'naive'].map(
        (layout) => [`${set}, ${layout}`, `${set}, ${layout}`] as const,
      ),
    ),
    columns: [1000, 10_000, 100_000].map((keys) => [`${keys.toLocaleString('en')} keys`, keys] as const),
    cell: (kept, what, keys) => kept.show(`8e ${keys} keys`, what, 1e-6),
  }),
  grid({
    name: 'speculation-stages',
    files: FILES,
    corner: 'µs',
    lines: [
      ['sequential', 'sequential'],
      ...WAYS,
      ['hierarchical, reversed', 'hierarchical reversed'],
      ['directed, serial', 'directed serial'],
    ],
    columns: ['upload', 'launch', 'kernel', 'readback'].map((stage) => [stage, stage] as const),
    cell: (kept, way, stage) => kept.show(`8f ${way}, batch 1`, stage),
  }),
]
