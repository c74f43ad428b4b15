import type { Device } from '../../../gpu/device/device.js'
import type { QueryKernels } from '../../../gpu/relational/query/query-kernels.js'
import { type SelectionTime, SelectionTimer } from '../../../gpu/relational/selection/selection-timer.js'
import type { Condition, SelectionOutput } from '../../../gpu/relational/selection/selection-types.js'
import { median, type Row } from '../../report.js'
import { randomTable } from './workload.js'

/** So few rows that the kernels take next to nothing. */
const ROWS = 2 ** 12
/** Numbers of conditions, each on a column of its own. */
const CONDITIONS = [1, 2, 4, 6]
const REPEATS = 9

/** What a selection takes whose kernels are not made yet, beside one that finds them. */
export async function measureFirstUse(device: Device, kernels: QueryKernels): Promise<Row[]> {
  const table = await randomTable(device, ROWS, Math.max(...CONDITIONS))
  const timer = new SelectionTimer(device, kernels)
  const time = (conditions: readonly Condition[], output: SelectionOutput): Promise<SelectionTime> => {
    const plan = { kernels: [{ groups: [conditions.map((_, i) => i)], hands: 'rows' as const }] }
    return timer.time(table.columns, ROWS, { conditions, plan, output })
  }
  const rows: Row[] = []
  try {
    for (const number of CONDITIONS) {
      const columns = Array.from({ length: number }, (_, column) => column)
      const conditions = columns.map(twoRanges)
      const first = await time(conditions, { kind: 'columns', columns })
      const later: number[] = []
      for (let i = 0; i < REPEATS; i++)
        later.push((await time(conditions, { kind: 'columns', columns })).wall / 1e6)
      rows.push({
        name: `first use of ${number} conditions and columns`,
        figures: { 'wall ms': first.wall / 1e6, 'wall ms later': median(later) },
      })
    }
    return rows
  } finally {
    table.destroy()
  }
}

/** Below a quarter or above three: no other selection of the suite has a test of this shape. */
function twoRanges(column: number): Condition {
  const intervals = [
    { low: 0n, high: 2n ** 30n },
    { low: 3n * 2n ** 30n, high: 2n ** 32n - 1n },
  ]
  return { kind: 'values', column, set: { intervals, nulls: false } }
}
