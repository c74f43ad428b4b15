import { type Kept, showNumber } from './kept.js'
import { grid, type Table } from './table.js'

/** A bound that a kept figure was to reach. */
interface Floor {
  readonly row: string
  readonly figure: string
  readonly atLeast?: number
  readonly atMost?: number
  /** From the kept figure's unit to the floor's. */
  readonly scale?: number
  /** Which of the table's files; the first one unless given. */
  readonly file?: number
}

type Line = readonly [label: string, Floor]

/** Whether a floor is met, by the figure that a document shows of it. */
function isMet({ atLeast = -Infinity, atMost = Infinity }: Floor, value: number): boolean {
  const shown = Number(showNumber(value).replaceAll(',', ''))
  return shown >= atLeast && shown <= atMost
}

function floors(name: string, files: readonly string[], lines: readonly Line[]): Table {
  return grid({
    name: `floors-${name}`,
    files,
    lines,
    columns: [
      ['floor', 'floor'],
      ['kept', 'kept'],
      ['', 'met'],
    ],
    cell: (kept, floor, column, others) => {
      if (column === 'floor') return floor.atLeast === undefined ? `≤ ${floor.atMost}` : `≥ ${floor.atLeast}`
      const value = keptValue([kept, ...others], floor)
      if (column === 'kept') return showNumber(value)
      return isMet(floor, value) ? 'met' : '**missed**'
    },
  })
}

function keptValue(kept: readonly Kept[], { row, figure, scale = 1, file = 0 }: Floor): number {
  const value = kept[file]!.figure(row, figure)
  if (value === undefined) throw new Error(`${row} has no ${figure}`)
  return value * scale
}

const CSS = 'u32 → u32, CSS-tree, 2^26'
const CSS_WIDE = 'u64 → u64, unique, CSS-tree, 2^26'
const PREFIX = 'u32 → u32, 2^26'
const PREFIX_WIDE = 'u64 → u64, unique, 2^26'

/** From millions to thousands of millions. */
const GIGA = 1e-3

const BUILD = { figure: 'build, kernels alone', scale: GIGA }
const GET = { figure: 'get Mkeys/s', scale: GIGA }
const INSERT = { figure: 'insert, kernels alone', atLeast: 2, scale: GIGA }
const GROWING_LABEL = 'the same where regions must grow, with round trips'
const GROWING = { figure: 'growing', atLeast: 0.3, scale: GIGA }
const DELETE = { figure: 'delete, kernels alone', atLeast: 2, scale: GIGA }
const SORT = { figure: 'M/s', scale: GIGA, file: 1 }
const ALL_FROM_COPY = { figure: 'of copy', scale: 100, file: 1 }

const SINGLE_KEYS = 'batches of 1, depth 16, 4 clients of 16 connections'

export const FLOORS: readonly Table[] = [
  floors(
    'device',
    ['nvidia-h200/device.json', 'nvidia-h200/primitives.json', 'nvidia-h200/strings.json'],
    [
      ['CSS-tree: gets u32, G/s', { row: CSS, ...GET, atLeast: 15 }],
      ['gets u64', { row: CSS_WIDE, ...GET, atLeast: 8 }],
      [
        'scans of 32 pairs written',
        { row: CSS, figure: 'Mscans/s of 32, on the device', scale: GIGA, atLeast: 2.5 },
      ],
      ['bulk build u32', { row: CSS, ...BUILD, atLeast: 8 }],
      ['bulk build u64', { row: CSS_WIDE, ...BUILD, atLeast: 8 }],
      ['insert of 2^22', { row: CSS, ...INSERT }],
      [GROWING_LABEL, { row: CSS, ...GROWING }],
      ['delete of 2^22', { row: CSS, ...DELETE }],
      ['prefix tree: gets u32, G/s', { row: PREFIX, ...GET, atLeast: 9 }],
      ['gets u64', { row: PREFIX_WIDE, ...GET, atLeast: 6 }],
      ['bulk build u32', { row: PREFIX, ...BUILD, atLeast: 4 }],
      ['bulk build u64', { row: PREFIX_WIDE, ...BUILD, atLeast: 4 }],
      ['insert of 2^22', { row: PREFIX, ...INSERT }],
      [GROWING_LABEL, { row: PREFIX, ...GROWING }],
      ['of u64', { row: PREFIX_WIDE, ...GROWING }],
      ['delete of 2^22', { row: PREFIX, ...DELETE }],
      ['sort u32 pairs, 2^26, G/s', { row: 'sort u32 → u32, 2^26', ...SORT, atLeast: 10 }],
      ['sort u64 + u32', { row: 'sort u64 → u32, 2^26', ...SORT, atLeast: 4.3 }],
      ['prefix scan, % of copy', { row: 'scan, 2^26', ...ALL_FROM_COPY, atLeast: 50 }],
      ['compact, % of copy', { row: 'compact, half set, 2^26', ...ALL_FROM_COPY, atLeast: 45 }],
      ['2^14 gets, µs', { row: CSS, figure: 'get 2^14, µs of the kernel', atMost: 25 }],
      ['2^14 u64 sorted, µs', { row: 'sort u64 → u32, 2^14', figure: 'µs', atMost: 25, file: 1 }],
      ['100,000 URLs, CSS-tree: gets, G/s', { row: 'URLs, css, 100000 keys', ...GET, atLeast: 1, file: 2 }],
      ['inserts, M/s', { row: 'URLs, css, 100000 keys', figure: 'insert Mkeys/s', atLeast: 20, file: 2 }],
      ['prefix tree: gets, G/s', { row: 'URLs, prefix, 100000 keys', ...GET, atLeast: 1, file: 2 }],
      ['inserts, M/s', { row: 'URLs, prefix, 100000 keys', figure: 'insert Mkeys/s', atLeast: 20, file: 2 }],
    ],
  ),
  floors(
    'queries',
    ['nvidia-h200/joins.json', 'nvidia-h200/relational.json', 'nvidia-h200/select.json'],
    [
      ['INLJ, 16 M ⋈ 16 M, ms', { row: '16 M ⋈ 16 M: inlj', figure: 'kernels ms', atMost: 3.5 }],
      ['SMJ', { row: '16 M ⋈ 16 M: smj', figure: 'kernels ms', atMost: 8 }],
      ['HJ', { row: '16 M ⋈ 16 M: hj', figure: 'kernels ms', atMost: 8 }],
      ['the slowest, to DuckDB', { row: '16 M ⋈ 16 M: smj', figure: 'to DuckDB', atLeast: 10 }],
      ...(
        [
          ['PRODUCT, 2^24 u32, % of copy', 'PRODUCT, u32 × u32', 90],
          ['PROJECT', 'PROJECT, u32', 80],
          ['SELECT of 50 %', 'SELECT 50 %, u32', 50],
          ['UNION', 'UNION, u32', 50],
          ['INTERSECT', 'INTERSECT, u32', 50],
          ['JOIN, half match', 'JOIN, half match, u32', 50],
        ] as const
      ).map(
        ([label, row, atLeast]): Line => [
          label,
          { row: `${row}, 2^24`, figure: '% of copy', atLeast, file: 1 },
        ],
      ),
      [
        'Q2 at selectivity 0.4, % of copy',
        { row: 'Q2, selectivity 0.4', figure: '% of copy', atLeast: 75, file: 2 },
      ],
      [
        'count of one column, % of copy',
        { row: 'count scan of one column', figure: '% of copy', atLeast: 85, file: 2 },
      ],
      [
        'Q2 at 0.1, to DuckDB',
        {
          row: 'Q2, selectivity 0.1, beside DuckDB on 16 threads',
          figure: 'to DuckDB',
          atLeast: 10,
          file: 2,
        },
      ],
    ],
  ),
  floors(
    'server',
    ['nvidia-h200/serve.json', 'nvidia-h200/serve-other-host.json', 'nvidia-h200/bulk.json'],
    [
      [
        'one client, M lookups/s',
        { row: 'batches of 262144, depth 8', figure: 'lookups/s', scale: 1e-6, atLeast: 200 },
      ],
      [
        'eight clients',
        { row: 'batches of 262144, depth 4, 8 clients', figure: 'lookups/s', scale: 1e-6, atLeast: 400 },
      ],
      ['single keys, k/s', { row: SINGLE_KEYS, figure: 'lookups/s', scale: 1e-3, atLeast: 250 }],
      ['their p99, ms', { row: SINGLE_KEYS, figure: 'p99 ms', atMost: 5 }],
      ['a lone key, p50, ms', { row: 'batches of 1, depth 1', figure: 'p50 ms', atMost: 0.2 }],
      [
        'durable inserts u64, M/s',
        {
          row: 'inserts of 67108864 keys, u64 → u64, batches of 65536, depth 8',
          figure: 'Mrows/s',
          atLeast: 20,
          file: 1,
        },
      ],
      [
        'bulk load u32, M/s',
        { row: 'u32 → u32 in process, chunks of 1048576', figure: 'Mrows/s', atLeast: 40, file: 2 },
      ],
      [
        'bulk load u64',
        { row: 'u64 → u64 in process, chunks of 1048576', figure: 'Mrows/s', atLeast: 40, file: 2 },
      ],
      ['idle, % of a core', { row: 'idle', figure: '% of a core', atMost: 2 }],
    ],
  ),
]
