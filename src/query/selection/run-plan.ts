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
 * Runs the plan of a selection, and settles which faults of its expressions are the query's: the next check of it finds these.
 *
 * A row that is a fault passes, unless it is false or null all the same, so that whether another condition excludes it does not depend on which of them
 * comes first. Where there were such rows, the expressions are evaluated once more for those that all conditions have left: a fault there is one of the
 * query.
 * @param start the rows to begin from; all of the table unless given
 */
export async function runPlan(
  work: DeviceWork,
  table: Table,
  output: SelectionOutput,
  chosen: RunnablePlan,
  start?: StartRows,
): Promise<Selected> {
  const selected = await select(work, table, output, chosen, start)
  const faults = await work.takeFaults()
  if (faults === 0 || selected.count === 0) return selected
  const { rows } = selected.rows ? selected : await select(work, table, { kind: 'rows' }, chosen, start)
  // Those that are found once more are no others.
  await work.takeFaults()
  const left = table.pick(work, { buffer: rows!, outer: false }, selected.count)
  for (const condition of chosen.conditions) {
    if (condition.kind === 'expression') await evaluateCondition(work, left, condition.expression)
  }
  return selected
}

function select(
  work: DeviceWork,
  table: Table,
  output: SelectionOutput,
  { conditions, plan, matchBy }: RunnablePlan,
  start: StartRows | undefined,
): Promise<Selected> {
  const wanted = output.kind === 'columns' ? output.columns : []
  const needed = new Set([...conditions.flatMap(columnsOf), ...wanted])
  const columns = table.columns.map(({ source }, i) => (needed.has(i) ? table.dense(work, i) : source))
  return work.kernels.selections.run(work, columns, table.rows, conditions, plan, output, { start, matchBy })
}
