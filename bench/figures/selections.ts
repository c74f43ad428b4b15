import type { PointRow } from '../papers/sitaridi/figures.js'
import type { Row } from '../report.js'
import { type Kept, showNumber } from './kept.js'
import { grid, type Table } from './table.js'

const FILES = ['nvidia-h200/select.json']

/** Kinds of plans by the beginning of their names, and what the planner chose. */
function plans(
  name: string,
  figure: string,
  selectivities: readonly number[],
  kinds: readonly string[],
): Table {
  return grid({
    name,
    files: FILES,
    corner: 'selectivity',
    lines: selectivities.map((selectivity) => [String(selectivity), selectivity] as const),
    columns: [...kinds.map((kind) => [kind, kind.replace('…', '')] as const), ['the planner', '']],
    cell: (kept, selectivity, kind) => planCell(kept, figure, selectivity, kind, kinds),
  })
}

function planCell(
  kept: Kept,
  figure: string,
  selectivity: number,
  kind: string,
  kinds: readonly string[],
): string {
  const { rows } = kept.content as { readonly rows: readonly (Row & Partial<PointRow>)[] }
  const { figures, plans = [] } =
    rows.find(({ name }) => name === `${figure}, selectivity ${selectivity}`) ?? {}
  if (figures === undefined) throw new Error(`select.json has no point of ${figure} at ${selectivity}`)
  // S4 is one kernel as a whole, K21 any kernels of two conditions and one.
  const fastest = (of: string) =>
    Math.min(...plans.filter(({ name }) => isKind(name, of)).map(({ ms }) => ms))
  const best = Math.min(...plans.map(({ ms }) => ms))
  if (kind === '') {
    const behind = 100 * (Number(figures['chosen ms']) / best - 1)
    return `${/^\w+/.exec(String(figures.chosen))?.[0]}${behind < 0.05 ? '' : `, ${behind.toFixed(1)} %`}`
  }
  const least = Math.min(...kinds.map((one) => fastest(one.replace('…', ''))))
  const ms = fastest(kind)
  return ms === least ? `**${showNumber(ms)}**` : showNumber(ms)
}

function isKind(name: string, kind: string): boolean {
  const [plan] = name.split(/[ ,]/) as [string]
  return kind.length === 1 ? plan.startsWith(kind) : plan === kind
}

export const SELECTIONS: readonly Table[] = [
  plans('selections-q2', 'Figure 2', [0.02, 0.1, 0.2, 0.4, 0.99], ['S1111', 'S211', 'S22', 'S31', 'S4']),
  plans(
    'selections-match',
    'Figure 3, strings of 16',
    [0.003, 0.03, 0.2, 0.99],
    ['S…', 'K21', 'K12', 'K111'],
  ),
  grid({
    name: 'selections-bandwidth',
    files: FILES,
    lines: [
      ['Q2, selectivity 0.4', 'Q2, selectivity 0.4'],
      ['Q2, selectivity 0.7', 'Q2, selectivity 0.7'],
      ['count of one column', 'count scan of one column'],
    ],
    columns: ['ms', 'GB/s', '% of copy'].map((figure) => [figure, figure] as const),
    cell: (kept, row, figure) => kept.show(row, figure),
  }),
  grid({
    name: 'selections-duckdb',
    files: FILES,
    lines: ['Q1', 'Q2'].flatMap((question) =>
      [0.1, 0.5].map((share) => {
        const row = `${question}, selectivity ${share}`
        return [row, `${row}, beside DuckDB on 16 threads`] as const
      }),
    ),
    columns: [
      ['wall, ms', 'wall ms'],
      ['DuckDB, 16 cores, ms', 'DuckDB ms'],
      ['times as fast', 'to DuckDB'],
    ],
    cell: (kept, row, figure) => kept.show(row, figure),
  }),
]
