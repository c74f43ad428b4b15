import type { Table } from '../../../gpu/relational/query/table.js'
import type { KeyCondition } from '../../../gpu/relational/selection/index-keys.js'
import { type IndexedRows, indexRows } from '../../../gpu/relational/selection/index-rows.js'
import type {
  Condition,
  Selected,
  SelectionOutput,
} from '../../../gpu/relational/selection/selection-types.js'
import type { Normalised } from '../conditions/normalise.js'
import { Estimates } from '../estimates/condition-shares.js'
import { maskOf } from '../estimates/masks.js'
import type { QueryRun } from '../query-run.js'
import { type ChosenPlan, choosePlan, PLANNED_CONDITIONS, type SelectionTask } from './choose-plan.js'
import { perListedRow, widthOf } from './evaluation-costs.js'
import { type CandidateIndex, chooseIndex, type IndexChoice } from './index-choice.js'
import { runPlan } from './run-plan.js'

type Conjunction = Extract<Normalised, { kind: 'all' }>

/** An index that a selection went through, for whoever wants to know. */
export interface IndexUse {
  /** Undefined where who asks may not see the index. */
  readonly name: string | undefined
  readonly choice: IndexChoice
  /** The conditions that it has answered. */
  readonly answered: readonly Condition[]
  /** Rows that it gave. */
  readonly rows: number
  /** How the others were evaluated for these; undefined where there are none, or no rows. */
  readonly rest: ChosenPlan | undefined
}

/** Rows that were selected by way of an index. */
export interface SelectedByIndex {
  readonly output: SelectionOutput
  readonly selected: Selected
  readonly use: IndexUse
}

/**
 * Selects by way of an index over columns of the relation that the table has all rows of, if that is estimated to take less than the plan without it.
 * @returns undefined where it is not, or the index cannot be used at once
 */
export async function selectByIndex(
  run: QueryRun,
  table: Table,
  normalised: Conjunction,
  task: SelectionTask,
  chosen: ChosenPlan,
): Promise<SelectedByIndex | undefined> {
  const { conditions } = normalised
  const indexes = candidatesFor(run, table)
  if (indexes.length === 0 || conditions.length > PLANNED_CONDITIONS) return undefined
  const implied = normalised.implied.slice(0, PLANNED_CONDITIONS - conditions.length)
  const all = [...conditions, ...implied.map(({ condition }) => condition)]
  const choice = chosenIndex(all, indexes, new Estimates(conditions, task.columns, implied), {
    required: conditions.length,
    task,
    scan: chosen.cost,
  })
  const found = choice && (await rowsOf(run, table, all, choice))
  if (choice === undefined || found === undefined) return undefined
  const name = run.nameOf(choice.index)
  const answered = choice.conditions.map((number) => all[number]!)
  const others = conditions.filter((condition) => !answered.includes(condition))
  if (others.length > 0 && found.count > 0) {
    const listed = { ...task, rows: found.count, listedOf: table.rows }
    const rest = choosePlan({ kind: 'all', conditions: others, implied: [] }, listed)
    const selected = await runPlan(run.work, table, task.output, rest, found)
    return { output: task.output, selected, use: { name, choice, answered, rows: found.count, rest } }
  }
  const output = { kind: task.output.kind === 'count' ? 'count' : 'rows' } as const
  const rows = output.kind === 'rows' ? found.buffer : undefined
  return {
    output,
    selected: { count: found.count, rows, columns: [], left: [] },
    use: { name, choice, answered, rows: found.count, rest: undefined },
  }
}

/** Indexes over columns that the table has as their relation has them. */
function candidatesFor(run: QueryRun, table: Table): readonly CandidateIndex[] {
  const whole = table.columns.flatMap(({ source, rows }) => {
    const origin = rows === undefined ? run.originOf(source) : undefined
    return origin === undefined ? [] : [origin.relation]
  })
  return [...new Set(whole)].flatMap(({ indexes = [], columns }) =>
    indexes.map((index) => ({
      index,
      columns: index.columns.map((name) =>
        table.columns.findIndex(({ source }) => source === columns.get(name)),
      ),
    })),
  )
}

function chosenIndex(
  conditions: readonly Condition[],
  indexes: readonly CandidateIndex[],
  estimates: Estimates,
  {
    required,
    task,
    scan,
  }: { readonly required: number; readonly task: SelectionTask; readonly scan: number },
): IndexChoice | undefined {
  const { rows, columns, costs, output } = task
  return chooseIndex(conditions, indexes, {
    rows,
    share: (numbers) => estimates.joint(maskOf(numbers)),
    required,
    atRows: (number, rows) => costs.launch + rows * perListedRow(conditions[number]!, columns, costs),
    forOutput: (rows) => (output.kind === 'columns' ? readingCost(output.columns, rows, task) : 0),
    costs,
    scan,
  })
}

/** What it takes to read columns at numbers of rows, and to write them. */
function readingCost(wanted: readonly number[], rows: number, { columns, costs }: SelectionTask): number {
  return wanted.reduce((sum, column) => {
    const width = widthOf(columns[column]!)
    return sum + costs.launch + rows * (costs.gather[width] + (width === 'wide' ? 2 : 1) * costs.write)
  }, 0)
}

async function rowsOf(
  run: QueryRun,
  table: Table,
  conditions: readonly Condition[],
  { index, conditions: numbers, columns, estimatedRows, most }: IndexChoice,
): Promise<IndexedRows | undefined> {
  const asked = numbers.flatMap((number): KeyCondition[] => {
    const condition = conditions[number]!
    if (condition.kind !== 'values') return []
    const { type, dictionary } = table.columns[condition.column]!.source
    return type === 'boolean' ? [] : [{ type, dictionary, set: condition.set }]
  })
  const question = { conditions: asked, columns, rows: table.rows, expected: estimatedRows, most }
  return index.use((structure) => indexRows(run.work, structure, question))
}
