import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { printTables, type Row, writeReport } from '../report.js'

/** A row and the figure or table of the paper that it belongs to. */
export interface PartRow extends Row {
  readonly part: string
}

/** Names of parts, or `missing` for those of which no rows are kept. */
export type PartChoice = readonly string[] | 'missing'

/** A paper's evaluation in parts, each of which can be measured by itself. */
export interface Evaluation<Part extends string, Kind extends Row> {
  readonly suite: string
  readonly adapter: string
  /** All that there are, in the order in which rows are kept. */
  readonly all: readonly Part[]
  /** Those to measure; all of them unless given. */
  readonly parts: PartChoice | undefined
  measure(part: Part): Promise<readonly Kind[]>
  /** Charts by file name, of what rows there are. */
  draw(adapter: string, rows: readonly (Kind & PartRow)[]): ReadonlyMap<string, string>
  /** Where the rows are kept, with the charts beside them; rows of other parts that are there already stay. */
  readonly path: string | undefined
}

/**
 * Measures parts of an evaluation; each is printed and kept as soon as it is measured.
 * @throws Error where one of them is no part
 */
export async function measureParts<Part extends string, Kind extends Row>(
  evaluation: Evaluation<Part, Kind>,
): Promise<void> {
  const { suite, adapter, all, path, draw } = evaluation
  let rows: (Kind & PartRow)[] = path === undefined ? [] : keptRows(path, adapter)
  const parts = chosenOf(evaluation, rows)
  for (const part of parts) {
    console.log(`measuring ${part} (of ${parts.join(', ')})`)
    const measured = (await evaluation.measure(part)).map((row) => ({ ...row, part }))
    printTables(`${part} on ${adapter}`, measured)
    rows = all.flatMap((one) => (one === part ? measured : rows.filter((row) => row.part === one)))
    // Charts are drawn even where they are not kept, so that a quick run shows that they can be.
    const charts = draw(adapter, rows)
    if (path === undefined) continue
    writeReport(path, { suite, adapter, rows })
    writeCharts(path, charts)
  }
}

function chosenOf<Part extends string, Kind extends Row>(
  { suite, all, parts }: Evaluation<Part, Kind>,
  kept: readonly PartRow[],
): readonly Part[] {
  if (parts === undefined) return all
  if (parts === 'missing') return all.filter((part) => kept.every((row) => row.part !== part))
  for (const part of parts) {
    if (!all.some((one) => one === part)) throw new Error(`${suite} has ${all.join(', ')}, and no ${part}`)
  }
  return all.filter((part) => parts.includes(part))
}

function keptRows<Kind extends PartRow>(path: string, adapter: string): Kind[] {
  if (!existsSync(path)) return []
  const report: { adapter: string; rows: Kind[] } = JSON.parse(readFileSync(path, 'utf8'))
  return report.adapter === adapter ? report.rows : []
}

/** Keeps charts beside the figures. */
function writeCharts(path: string, charts: ReadonlyMap<string, string>): void {
  mkdirSync(dirname(path), { recursive: true })
  for (const [file, chart] of charts) writeFileSync(join(dirname(path), file), chart)
}
