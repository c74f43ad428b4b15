import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { evaluateCondition } from '../../../gpu/relational/expressions/evaluate.js'
import type { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import type { Table } from '../../../gpu/relational/query/table.js'
import {
  columnsOf,
  type Selected,
  type SelectionOutput,
} from '../../../gpu/relational/selection/selection-types.js'
import type { StartRows } from '../../../gpu/relational/selection/selections.js'
import type { RunnablePlan } from './choose-plan.js'

/**
 * Runs the plan of a selection.
 * @param start the rows to begin from; all of the table unless given
 */
export function runPlan(
  work: DeviceWork,
  table: Table,
  output: SelectionOutput,
  { conditions, plan, matchBy }: RunnablePlan,
  start?: StartRows,
): Promise<Selected> {
  const wanted = output.kind === 'columns' ? output.columns : []
  const needed = new Set([...conditions.flatMap(columnsOf), ...wanted])
  const columns = table.columns.map(({ source }, i) => (needed.has(i) ? table.dense(work, i) : source))
  return work.kernels.selections.run(work, columns, table.rows, conditions, plan, output, { start, matchBy })
}

/**
 * Settles which faults of a plan's expressions are the query's. A row that is a fault passes, unless it is false or null all the same, so that whether
 * another condition excludes it does not depend on which of them comes first. Where there were such rows, the expressions are evaluated once more for
 * those that all conditions have left: a fault there is one of the query, and the next check of it finds that.
 * @param selected what the plan has given
 * @param start the rows that it began from; all of the table unless given
 */
export async function settleFaults(
  work: DeviceWork,
  table: Table,
  chosen: RunnablePlan,
  selected: Selected,
  start?: StartRows,
): Promise<void> {
  const faults = await work.takeFaults()
  if (faults === 0 || selected.count === 0) return
  const rows = selected.rows ?? (await rowsAgain(work, table, chosen, start))
  const left = table.pick(work, { buffer: rows, outer: false }, selected.count)
  for (const condition of chosen.conditions) {
    if (condition.kind === 'expression') await evaluateCondition(work, left, condition.expression)
  }
}

/** The numbers of the rows that a plan gave in another form. */
async function rowsAgain(
  work: DeviceWork,
  table: Table,
  chosen: RunnablePlan,
  start: StartRows | undefined,
): Promise<DeviceMemory> {
  const { rows } = await runPlan(work, table, { kind: 'rows' }, chosen, start)
  await work.takeFaults()
  return rows!
}
