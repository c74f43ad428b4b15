import type { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import type { Table } from '../../../gpu/relational/query/table.js'
import { columnsOf } from '../../../gpu/relational/selection/condition-columns.js'
import type { Selected } from '../../../gpu/relational/selection/selection-types.js'
import type { StartRows } from '../../../gpu/relational/selection/selections.js'
import type { ChosenPlan, SelectionTask } from './choose-plan.js'

/**
 * Runs the plan of a selection.
 * @param start the rows to begin from; all of the table unless given
 */
export function runPlan(
  work: DeviceWork,
  table: Table,
  { output }: Pick<SelectionTask, 'output'>,
  { conditions, plan, matchBy }: Pick<ChosenPlan, 'conditions' | 'plan' | 'matchBy'>,
  start?: StartRows,
): Promise<Selected> {
  const wanted = output.kind === 'columns' ? output.columns : []
  const needed = new Set([...conditions.flatMap(columnsOf), ...wanted])
  const columns = table.columns.map(({ source }, i) => (needed.has(i) ? table.dense(work, i) : source))
  return work.kernels.selections.run(work, columns, table.rows, conditions, plan, output, { start, matchBy })
}
