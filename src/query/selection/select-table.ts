import { Table } from '../../../gpu/relational/query/table.js'
import { touchedShare } from '../../../gpu/relational/selection/fits.js'
import {
  columnsOf,
  type Selected,
  type SelectionCosts,
  type SelectionOutput,
} from '../../../gpu/relational/selection/selection-types.js'
import type { StartRows } from '../../../gpu/relational/selection/selections.js'
import type { NodeOf } from '../../../protocol/query/typed.js'
import { type Normalised, normalise } from '../conditions/normalise.js'
import { domainOf, estimatedColumns, readSamples } from '../estimates/sampled-columns.js'
import type { QueryRun } from '../query-run.js'
import {
  branchFreePlan,
  type ChosenPlan,
  estimatePlan,
  plannerOf,
  type RunnablePlan,
  type SelectionTask,
} from './choose-plan.js'
import { defaultCosts } from './default-costs.js'
import { runPlan } from './run-plan.js'
import { selectByIndex } from './select-by-index.js'

/** What becomes of a selection's rows: all of their columns are read next, or nobody knows. */
export type Reading = 'whole' | 'unknown'

/** The rows of a table that a `where` gives. */
export async function selectTable(
  run: QueryRun,
  node: NodeOf<'where'>,
  table: Table,
  reading: Reading,
): Promise<Table> {
  const domains = table.columns.map(domainOf)
  const normalised = normalise(node.condition, domains)
  const given = table.choose(node.kept)
  if (normalised.kind === 'none' || table.rows === 0) return given.slice(run.work, 0, 0)
  if (normalised.conditions.length === 0) return given
  const { device } = run.work
  const costs = device.selectionCosts ?? defaultCosts(device.facts.software)
  const names = node.input.columns.map(({ name }) => name)
  const { whole, start } = wholeOf(run, table)
  const outputs = outputsOf(whole, node.kept, reading)
  const selection = { run, table: whole, start, normalised, costs, outputs }
  const branchFree = branchFreePlan(normalised.conditions, domains, table.rows, costs)
  const { output, selected, ...ran } =
    branchFree === undefined ? await planned(selection) : await unplanned(selection, branchFree)
  run.figures(node).selections.add({ ...ran, output, domains, names, left: selected.left })
  const from = whole === table ? given : whole.choose(node.kept)
  return selected.count === given.rows && output.kind !== 'columns'
    ? given
    : tableOf(run, from, output, selected)
}

/**
 * The table of all rows of a relation and its live rows to start from, where a table is just these: columns are read at numbers of rows then, and not
 * gathered before. Else the table itself.
 */
function wholeOf(run: QueryRun, table: Table): { readonly whole: Table; readonly start?: StartRows } {
  const [first] = table.columns
  const relation = first && run.originOf(first.source)?.relation
  const live = first?.rows
  const isLive = table.columns.every(({ source, rows }) => {
    return rows === live && run.originOf(source)?.relation === relation
  })
  if (relation === undefined || live?.areAllLive !== true || !isLive) return { whole: table }
  const whole = Table.ofColumns(
    relation.rows,
    table.columns.map(({ source }) => source),
  )
  return { whole, start: { buffer: live.buffer, count: table.rows } }
}

/** What is selected from, and into which forms. */
interface Selection {
  readonly run: QueryRun
  readonly table: Table
  /** Those of its rows that are selected from; all of them unless given. */
  readonly start: StartRows | undefined
  readonly normalised: Extract<Normalised, { kind: 'all' }>
  readonly costs: SelectionCosts
  readonly outputs: Outputs
}

/** Forms of what is wanted; the last one spares it to be read at row numbers. */
interface Outputs {
  readonly rows: SelectionOutput
  readonly columns: Extract<SelectionOutput, { kind: 'columns' }> | undefined
}

function outputsOf(table: Table, kept: readonly number[], reading: Reading): Outputs {
  const isDense = kept.every((column) => table.columns[column]!.rows === undefined)
  const isColumnar = reading === 'whole' && kept.length > 0 && isDense
  return {
    rows: { kind: kept.length === 0 ? 'count' : 'rows' },
    columns: isColumnar ? { kind: 'columns', columns: kept } : undefined,
  }
}

function taskOf({ run, table, start, normalised, costs }: Selection, output: SelectionOutput): SelectionTask {
  const asked = new Set(normalised.conditions.flatMap(columnsOf))
  return {
    ...(start === undefined ? { rows: table.rows } : { rows: start.count, listedOf: table.rows }),
    columns: estimatedColumns(run, table, asked),
    output,
    costs,
  }
}

async function unplanned(selection: Selection, plan: RunnablePlan) {
  const { run, table, start, outputs } = selection
  const output = outputs.columns ?? outputs.rows
  const selected = await runPlan(run.work, table, output, plan, start)
  const estimate = () => estimatePlan(plan, taskOf(selection, output))
  return { output, selected, plan, estimate, rows: start?.count ?? table.rows }
}

async function planned(selection: Selection) {
  const { run, table, start, normalised } = selection
  await readSamples(run, table, new Set(normalised.conditions.flatMap(columnsOf)))
  const { task, chosen } = cheapest(selection)
  const estimate = () => chosen
  const byIndex = await selectByIndex(run, table, normalised, task, chosen)
  if (byIndex !== undefined) return { ...byIndex, plan: byIndex.use.rest, estimate, rows: task.rows }
  const selected = await runPlan(run.work, table, task.output, chosen, start)
  return { output: task.output, selected, plan: chosen, estimate, rows: task.rows }
}

function cheapest(selection: Selection): { readonly task: SelectionTask; readonly chosen: ChosenPlan } {
  const { rows, columns } = selection.outputs
  const task = taskOf(selection, rows)
  const planFor = plannerOf(selection.normalised, task)
  const chosen = planFor(rows)
  if (columns === undefined) return { task, chosen }
  const other = planFor(columns)
  const later = lateCost(task, chosen, columns.columns.length)
  return other.cost < chosen.cost + later
    ? { task: { ...task, output: columns }, chosen: other }
    : { task, chosen }
}

/** What it takes to read so many columns at numbers of rows afterwards, each with a kernel of its own. */
function lateCost({ rows, costs }: SelectionTask, { estimatedRows }: ChosenPlan, columns: number): number {
  const left = estimatedRows.at(-1)!
  const pieces = (rows / costs.granule) * touchedShare(costs.granule, rows === 0 ? 0 : left / rows)
  const numbers = costs.scan.word * left
  const value = Math.max(costs.gather.word * pieces, costs.scan.word * left) + costs.write * left
  return columns * (costs.launch + costs.gathering + numbers + value)
}

/** @param given the table with the columns that are wanted of it */
function tableOf(run: QueryRun, given: Table, output: SelectionOutput, selected: Selected): Table {
  const { count, rows, columns } = selected
  if (output.kind === 'columns') {
    for (const [i, column] of columns.entries()) run.work.facts.draw(column, given.columns[i]!)
    return Table.ofColumns(count, columns).ordered(given.order)
  }
  return rows === undefined
    ? new Table(count, [])
    : given.pick(run.work, { buffer: rows, outer: false, ascending: true }, count)
}
