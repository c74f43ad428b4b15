import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fill } from '../../bench/figures/documents.js'
import { showNumber } from '../../bench/figures/kept.js'
import { grid } from '../../bench/figures/table.js'

const TABLE = grid({
  name: 'sorts',
  files: ['gpu/sorts.json'],
  corner: 'sort | of',
  lines: [
    ['radix | u32', 'radix sort'],
    ['quick | u32', 'quicksort'],
  ],
  columns: [
    ['ms', 'ms'],
    ['GB/s', 'GB/s'],
  ],
  cell: (kept, row, figure) => kept.show(row, figure),
})

const MARKED = 'before\n<!-- figures: sorts -->\n<!-- /figures -->\nafter\n'

function resultsOf(t: Test, rows: readonly { name: string; figures: object }[]): string {
  const folder = t.testdir()
  mkdirSync(join(folder, 'gpu'))
  writeFileSync(join(folder, 'gpu', 'sorts.json'), JSON.stringify({ rows }))
  return folder
}

t.test('tables are filled from kept figures, and filled ones stay', async (t) => {
  const folder = resultsOf(t, [
    { name: 'radix sort', figures: { ms: 0.91651, 'GB/s': 291.26 } },
    { name: 'quicksort', figures: { ms: 1269.4, 'GB/s': 'omitted: too much' } },
  ])
  const { text, tables, changed } = fill(MARKED, [TABLE], folder)
  const lines = [
    'before',
    '<!-- figures: sorts from bench/results/gpu/sorts.json -->',
    '| sort | of | ms | GB/s |',
    '|---|---|---|---|',
    '| radix | u32 | 0.917 | 291 |',
    '| quick | u32 | 1,269 | |',
    '<!-- /figures -->',
    'after',
    '',
  ]
  t.equal(text, lines.join('\n'))
  t.same(tables, ['sorts'])
  t.same(changed, ['sorts'])
  t.same(fill(text, [TABLE], folder), { text, tables, changed: [] })
  t.same(fill(text.replace('0.917', '0.817'), [TABLE], folder), { text, tables, changed }, 'what was edited')
})

t.test('what has no figures is named', async (t) => {
  const folder = resultsOf(t, [
    { name: 'radix sort', figures: { ms: 1 } },
    { name: 'quicksort', figures: { ms: 2 } },
  ])
  t.throws(() => fill(MARKED, [TABLE], folder), { message: 'sorts has no figures for GB/s' })
  t.throws(() => fill(MARKED, [], folder), { message: /no table sorts/ })
  t.throws(() => fill(MARKED.replace('/figures', 'figures'), [TABLE], folder), {
    message: /no <!-- \/figures/,
  })
  const none = resultsOf(t, [{ name: 'radix sort', figures: { ms: 1, 'GB/s': 2 } }])
  t.throws(() => fill(MARKED, [TABLE], none), { message: 'gpu/sorts.json has no row "quicksort"' })
})

t.test('numbers have the digits that count', async (t) => {
  const shown = [0, 3, 14_336, 0.0004679, 0.9999, 9.996, 99.95, 999.6, 1304.6, 578_398.4, 2 ** 24]
  t.same(shown.map(showNumber), [
    '0',
    '3',
    '14,336',
    '0.000468',
    '1.00',
    '10.0',
    '100',
    '1,000',
    '1,305',
    '578,400',
    '16,780,000',
  ])
})
