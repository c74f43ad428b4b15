import { valueWords } from '../../../gpu/relational/query/query-column.js'
import { columnsOf } from '../../../gpu/relational/selection/condition-columns.js'
import type {
  Condition,
  SelectionCosts,
  SelectionOutput,
  SelectionPlan,
} from '../../../gpu/relational/selection/selection-types.js'
import type { MatchBy } from '../../../gpu/relational/selection/selections.js'
import { CostModel, type ModelColumn } from './cost-model.js'
import { type EstimatedColumn, Estimates } from './estimates.js'
import { evaluationOf } from './evaluation-costs.js'
import type { Normalised } from './normalise.js'
import { type CostedPlan, type Orders, optimise, rankOrder } from './optimise.js'

/** What is selected from, and to what end. */
export interface SelectionTask {
  readonly rows: number
  readonly columns: readonly EstimatedColumn[]
  readonly output: SelectionOutput
  readonly costs: SelectionCosts
  /** Columns' buffers that a kernel may bind. */
  readonly buffers: number
}

/** A plan that was chosen. */
export interface ChosenPlan {
  /** What the plan's numbers mean. */
  readonly conditions: readonly Condition[]
  readonly plan: SelectionPlan
  /** How strings are matched, by the numbers of conditions that do. */
  readonly matchBy: ReadonlyMap<number, MatchBy>
  /** Nanoseconds. */
  readonly cost: number
  /** Rows that each kernel is thought to leave. */
  readonly estimatedRows: readonly number[]
  /** For whoever wants to know more: the model, and the order of conditions where it was settled beforehand. */
  readonly model: CostModel
  readonly order: readonly number[]
}

/** As many conditions are planned one by one; what comes behind so many hardly sees a row. */
const PLANNED_CONDITIONS = 24
/** Columns for which a mask has bits. */
const PLANNED_COLUMNS = 31
/** Up to so many conditions that have to do with each other all orders are tried. */
const ENUMERATED_CONDITIONS = 6

/**
 * Chooses the plan of a selection by its costs (Sitaridi and Ross §4).
 * @param normalised with one condition at least
 */
export function choosePlan(
  { conditions, implied }: Extract<Normalised, { kind: 'all' }>,
  task: SelectionTask,
): ChosenPlan {
  const plain = planOf(conditions, new Estimates(conditions, task.columns), task)
  if (implied.length === 0 || conditions.length + implied.length > PLANNED_CONDITIONS) return plain
  const all = [...conditions, ...implied.map(({ condition }) => condition)]
  const more = planOf(all, new Estimates(conditions, task.columns, implied), task)
  return more.cost < plain.cost ? more : plain
}

function planOf(conditions: readonly Condition[], estimates: Estimates, task: SelectionTask): ChosenPlan {
  const planned = conditions.slice(0, plannable(conditions))
  const model = modelOf(planned, estimates, task)
  const order = rankOrder(model)
  const enumerates = estimates.correlated && planned.length <= ENUMERATED_CONDITIONS
  const orders: Orders = enumerates ? { kind: 'all' } : { kind: 'one', order }
  // One condition a kernel is always possible.
  const { plan, cost } = optimise(model, orders) ?? oneByOne(order)
  const behind = oneByOne(numbersFrom(planned.length, conditions.length)).plan
  const kernels = [...plan.kernels, ...behind.kernels]
  return {
    conditions,
    plan: { kernels },
    matchBy: matchings(model, plan),
    cost,
    estimatedRows: rowsLeft(kernels, estimates, task),
    model,
    order,
  }
}

/** How many of the first conditions masks have room for. */
function plannable(conditions: readonly Condition[]): number {
  const columns = new Set<number>()
  const most = Math.min(conditions.length, PLANNED_CONDITIONS)
  for (let i = 0; i < most; i++) {
    for (const column of columnsOf(conditions[i]!)) columns.add(column)
    if (columns.size > PLANNED_COLUMNS) return i
  }
  return most
}

function modelOf(conditions: readonly Condition[], estimates: Estimates, task: SelectionTask): CostModel {
  const { rows, columns, output, costs, buffers } = task
  const wanted = output.kind === 'columns' ? output.columns : []
  const used = [...new Set([...conditions.flatMap(columnsOf), ...wanted])].slice(0, PLANNED_COLUMNS)
  const numbers = new Map(used.map((column, number) => [column, number]))
  const known = (all: readonly number[]) =>
    all.flatMap((column) => {
      const number = numbers.get(column)
      return number === undefined ? [] : [number]
    })
  return new CostModel({
    rows,
    columns: used.map((column) => modelColumn(columns[column]!)),
    conditions: conditions.map((condition) => ({
      columns: known([...new Set(columnsOf(condition))]),
      evaluation: evaluationOf(condition, columns, costs),
      alone: condition.kind === 'expression',
    })),
    joint: (mask) => estimates.joint(mask),
    output: { rows: output.kind === 'rows', columns: known(wanted) },
    costs,
    buffers,
    touching: 'independent',
  })
}

function modelColumn({ type, nullable }: EstimatedColumn): ModelColumn {
  return { width: valueWords(type) === 2 ? 'wide' : 'word', nullable }
}

/** Strings are matched where they are looked at, or all of the dictionary's beforehand, by the rows that come to them. */
function matchings(model: CostModel, { kernels }: SelectionPlan): Map<number, MatchBy> {
  const matchBy = new Map<number, MatchBy>()
  let done = 0
  for (const { groups } of kernels) {
    const start = done
    for (const group of groups) {
      const rows = done === start ? model.rowsAfter(start) : model.reached(start, done)
      for (const condition of group) {
        const { prepared } = model.problem.conditions[condition]!.evaluation
        if (prepared === undefined) continue
        matchBy.set(condition, model.isPrepared(condition, rows) ? 'dictionary' : 'row')
      }
      done = group.reduce((mask, condition) => mask | (1 << condition), done)
    }
  }
  return matchBy
}

function oneByOne(order: readonly number[]): CostedPlan {
  const kernels = order.map((condition) => ({ groups: [[condition]], hands: 'rows' as const }))
  return { plan: { kernels }, cost: Number.POSITIVE_INFINITY }
}

function numbersFrom(first: number, end: number): number[] {
  return Array.from({ length: end - first }, (_, i) => first + i)
}

function rowsLeft(
  kernels: SelectionPlan['kernels'],
  estimates: Estimates,
  { rows }: SelectionTask,
): number[] {
  let mask = 0
  return kernels.map(({ groups }) => {
    for (const condition of groups.flat()) if (condition < PLANNED_CONDITIONS) mask |= 1 << condition
    return rows * estimates.joint(mask)
  })
}
