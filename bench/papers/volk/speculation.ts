import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Device } from '../../../gpu/device/device.js'
import { printTables, writeReport } from '../../report.js'
import { drawCharts } from './charts.js'
import { DATA_SETS, keyLengths } from './data-sets.js'
import { createTools } from './device-subject.js'
import { Evaluation, FIGURES, type Figure, type FigureRow } from './figures.js'
import { choosePlan } from './plan.js'

export interface SpeculationOptions {
  /** Seconds instead of minutes, on small indexes. */
  readonly quick: boolean
  /** The figures to measure. */
  readonly figures: readonly Figure[]
  /** Where the rows are kept, with the charts beside them; rows of other figures that are there already stay. */
  readonly path: string | undefined
}

/**
 * Repeats the evaluation of Volk et al. (§6, Figure 8): the traversals of the prefix tree against the naive index and against a
 * sequential one on the CPU. Each figure is printed and kept as soon as it is measured.
 */
export async function benchSpeculation(
  device: Device,
  { quick, figures, path }: SpeculationOptions,
): Promise<void> {
  const { name, software } = device.facts
  const plan = choosePlan(software, quick)
  for (const set of Object.values(DATA_SETS)) {
    const { average, longest } = keyLengths(set.keys(100_000))
    console.log(`${set.name}: 100000 keys of ${average.toFixed(1)} bytes on average, ${longest} at most`)
  }
  const evaluation = new Evaluation(await createTools(device), plan)
  let rows = path === undefined ? [] : keptRows(path, name)
  for (const figure of figures) {
    const measured = await evaluation.measure(figure)
    printTables(`Figure 8 (${figure}), ${measured[0]?.unit} on ${name}`, measured)
    rows = FIGURES.flatMap((one) => (one === figure ? measured : rows.filter((row) => row.figure === one)))
    keep(path, name, rows)
  }
}

function keptRows(path: string, adapter: string): FigureRow[] {
  if (!existsSync(path)) return []
  const report: { adapter: string; rows: FigureRow[] } = JSON.parse(readFileSync(path, 'utf8'))
  return report.adapter === adapter ? report.rows : []
}

/** Charts are drawn even where they are not kept, so that a quick run shows that they can be. */
function keep(path: string | undefined, adapter: string, rows: readonly FigureRow[]): void {
  const charts = drawCharts(adapter, rows)
  if (path === undefined) return
  writeReport(path, { suite: 'speculation', adapter, rows })
  for (const [file, chart] of charts) writeFileSync(join(dirname(path), file), chart)
}
