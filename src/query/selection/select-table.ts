import { Table } from '../../../gpu/relational/query/table.js'
import { columnsOf } from '../../../gpu/relational/selection/condition-columns.js'
import { FIRST_SOURCE } from '../../../gpu/relational/selection/predicate-text.js'
import type { Selected, SelectionOutput } from '../../../gpu/relational/selection/selection-types.js'
import { type Normalised, normalise } from '../conditions/normalise.js'
import { estimatedColumns, factsOf } from '../estimates/sampled-columns.js'
import type { NodeOf } from '../node-of.js'
import type { QueryRun } from '../query-run.js'
import { type ChosenPlan, choosePlan, type SelectionTask } from './choose-plan.js'
import { defaultCosts } from './default-costs.js'
import { runPlan } from './run-plan.js'
import { selectByIndex } from './select-by-index.js'
import { settleFaults } from './settle-faults.js'

/** What becomes of a selection's rows: all of their columns are read next, or nobody knows. */
export type Reading = 'whole' | 'unknown'

/** The rows of a table that a `where` gives. */
export async function selectTable(
  run: QueryRun,
  node: NodeOf<'where'>,
  table: Table,
  reading: Reading,
): Promise<Table> {
  const normalised = normalise(node.condition, table.columns.map(factsOf))
  const { selections } = run.figures(node)
  const given = table.choose(node.kept)
  if (normalised.kind === 'none' || table.rows === 0) return given.slice(run.work, 0, 0)
  if (normalised.conditions.length === 0) return given
  const { task, chosen } = await planned(run, node, table, normalised, reading)
  const names = node.input.columns.map(({ name }) => name)
  const byIndex = await selectByIndex(run, table, normalised, task, chosen)
  if (byIndex !== undefined) {
    const { output, selected, use } = byIndex
    selections.add({ task, chosen, left: selected.left, names, use })
    return tableOf(run, given, output, selected)
  }
  const selected = await runPlan(run.work, table, task, chosen)
  await settleFaults(run.work, table, chosen, selected)
  selections.add({ task, chosen, left: selected.left, names })
  return tableOf(run, given, task.output, selected)
}

async function planned(
  run: QueryRun,
  { kept }: NodeOf<'where'>,
  table: Table,
  normalised: Extract<Normalised, { kind: 'all' }>,
  reading: Reading,
): Promise<{ readonly task: SelectionTask; readonly chosen: ChosenPlan }> {
  const { device } = run.work
  const { maxStorageBuffersPerShaderStage } = device.gpu.limits
  const columns = await estimatedColumns(run, table, [...new Set(normalised.conditions.flatMap(columnsOf))])
  const task: SelectionTask = {
    rows: table.rows,
    columns,
    output: { kind: kept.length === 0 ? 'count' : 'rows' },
    costs: device.selectionCosts ?? defaultCosts(device.facts.software),
    buffers: maxStorageBuffersPerShaderStage - FIRST_SOURCE,
  }
  const chosen = choosePlan(normalised, task)
  const isDense = kept.every((column) => table.columns[column]!.rows === undefined)
  if (reading === 'unknown' || kept.length === 0 || !isDense) return { task, chosen }
  const columnar: SelectionTask = { ...task, output: { kind: 'columns', columns: kept } }
  const other = choosePlan(normalised, columnar)
  const later = lateCost(task, chosen, kept)
  return other.cost < chosen.cost + later ? { task: columnar, chosen: other } : { task, chosen }
}

/** What it takes to read columns at numbers of rows afterwards, each with a kernel of its own. */
function lateCost(
  { rows, costs }: SelectionTask,
  { model, estimatedRows }: ChosenPlan,
  kept: readonly number[],
): number {
  const left = estimatedRows.at(-1)!
  const pieces = (rows / costs.granule) * model.touched(rows === 0 ? 0 : left / rows)
  const numbers = costs.scan.word * left
  const value = Math.max(costs.gather.word * pieces, costs.scan.word * left) + costs.write * left
  return kept.length * (costs.launch + costs.gathering + numbers + value)
}

/** @param given the table with the columns that are wanted of it */
function tableOf(run: QueryRun, given: Table, output: SelectionOutput, selected: Selected): Table {
  const { count, rows, columns } = selected
  if (output.kind === 'columns') return Table.ofColumns(count, columns)
  if (count === given.rows) return given
  return rows === undefined
    ? new Table(count, [])
    : given.pick(run.work, { buffer: rows, outer: false, ascending: true }, count)
}
