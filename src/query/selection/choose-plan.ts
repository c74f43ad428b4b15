import { valueWords } from '../../../gpu/relational/query/query-column.js'
import { columnsOf } from '../../../gpu/relational/selection/condition-columns.js'
import type {
  ColumnWidth,
  Condition,
  SelectionCosts,
  SelectionOutput,
  SelectionPlan,
} from '../../../gpu/relational/selection/selection-types.js'
import type { MatchBy } from '../../../gpu/relational/selection/selections.js'
import type { ColumnFacts } from '../conditions/column-domain.js'
import type { Implied, Normalised } from '../conditions/normalise.js'
import type { EstimatedColumn } from '../estimates/column-sample.js'
import { type EstimatedImplied, Estimates } from '../estimates/condition-shares.js'
import { CostModel } from './cost-model.js'
import { evaluationOf, perListedRow, perMatchedRow } from './evaluation-costs.js'
import { type CostedPlan, type Orders, optimise, rankOrder } from './optimise.js'
import { planCost } from './plans.js'

/** What is selected from, and to what end. */
export interface SelectionTask {
  readonly rows: number
  /** Rows of the table where these are in a list; unless given they are all of it. */
  readonly listedOf?: number
  readonly columns: readonly EstimatedColumn[]
  readonly output: SelectionOutput
  readonly costs: SelectionCosts
  /** Columns' buffers that a kernel may bind. */
  readonly buffers: number
}

/** A plan, and what it needs to run. */
export interface RunnablePlan {
  /** What the plan's numbers mean. */
  readonly conditions: readonly Condition[]
  readonly plan: SelectionPlan
  /** How strings are matched, by the numbers of conditions that do; of others see `RunOptions`. */
  readonly matchBy: ReadonlyMap<number, MatchBy>
}

/** A plan that was chosen. */
export interface ChosenPlan extends RunnablePlan {
  /** Nanoseconds. */
  readonly cost: number
  /** Rows that each kernel is thought to leave. */
  readonly estimatedRows: readonly number[]
  /** For whoever wants to know more: the model, and the order of conditions where it was settled beforehand. */
  readonly model: CostModel
  readonly order: readonly number[]
}

/** As many conditions are planned one by one; what comes behind so many hardly sees a row. */
export const PLANNED_CONDITIONS = 24
/** Columns for which a mask has bits. */
const PLANNED_COLUMNS = 31
/** Up to so many conditions that have to do with each other all orders are tried. */
const ENUMERATED_CONDITIONS = 6

/**
 * A scan that takes less than this part of waiting for its count is not planned: that takes longer than the best plan could spare, whose count is waited for,
 * too.
 */
const LEAST_PLANNED = 1 / 4

type Conjunction = Extract<Normalised, { kind: 'all' }>

/**
 * One kernel that evaluates all conditions for every row, where that takes so little that it does not matter what they leave.
 * @param columns by the numbers that conditions have for them
 */
export function branchFreePlan(
  conditions: readonly Condition[],
  columns: readonly ColumnFacts[],
  rows: number,
  costs: SelectionCosts,
): RunnablePlan | undefined {
  if (conditions.length > PLANNED_CONDITIONS) return undefined
  const used = new Set(conditions.flatMap(columnsOf))
  if (used.size > PLANNED_COLUMNS) return undefined
  let perRow = 0
  for (const column of used) perRow += costs.scan[widthOf(columns[column]!)]
  for (const condition of conditions) perRow += perMatchedRow(evaluationOf(condition, columns, costs))
  if (rows * perRow >= LEAST_PLANNED * costs.roundTrip) return undefined
  const plan = { kernels: [{ groups: [[...conditions.keys()]], hands: 'rows' as const }] }
  return { conditions, plan, matchBy: new Map() }
}

/**
 * Chooses the plan of a selection by its costs (Sitaridi and Ross §4).
 * @param normalised with one condition at least
 */
export function choosePlan(normalised: Conjunction, task: SelectionTask): ChosenPlan {
  return new Planner(normalised, task).choose(task.output)
}

/** What plans of the same conditions for different outputs have in common. */
export class Planner {
  readonly #task: SelectionTask
  /** The conditions without what they imply, and with it. */
  readonly #variants: readonly Estimated[]

  constructor({ conditions, implied }: Conjunction, task: SelectionTask) {
    this.#task = task
    this.#variants = [estimated(plannable(conditions, []), task)]
    if (implied.length > 0 && conditions.length + implied.length <= PLANNED_CONDITIONS) {
      this.#variants = [...this.#variants, estimated(plannable(conditions, implied), task)]
    }
  }

  choose(output: SelectionOutput): ChosenPlan {
    const task = { ...this.#task, output }
    const plans = this.#variants.map((variant) => planOf(variant, task))
    return plans.reduce((best, plan) => (plan.cost < best.cost ? plan : best))
  }
}

/** What is thought of a plan that was not chosen by its costs. */
export function estimatePlan({ conditions, plan, matchBy }: RunnablePlan, task: SelectionTask): ChosenPlan {
  const variant = estimated(plannable(conditions, []), task)
  const model = modelOf(variant, task)
  return {
    conditions,
    plan,
    matchBy,
    cost: planCost(model, plan),
    estimatedRows: rowsLeft(plan.kernels, variant, task),
    model,
    order: rankOrder(model),
  }
}

/** Conditions for which masks have room, and those that come behind them, each with a kernel of its own. */
interface Plannable {
  readonly conditions: readonly Condition[]
  /** Behind these conditions, by their numbers among them. */
  readonly implied: readonly EstimatedImplied[]
  readonly behind: readonly Condition[]
}

/** The same with how many rows satisfy them. */
interface Estimated {
  /** Those that are implied last. */
  readonly planned: readonly Condition[]
  readonly behind: readonly Condition[]
  readonly estimates: Estimates
}

function estimated({ conditions, implied, behind }: Plannable, { columns }: SelectionTask): Estimated {
  const planned = [...conditions, ...implied.map(({ condition }) => condition)]
  return { planned, behind, estimates: new Estimates(conditions, columns, implied) }
}

function planOf(variant: Estimated, task: SelectionTask): ChosenPlan {
  const { planned, behind, estimates } = variant
  const model = modelOf(variant, task)
  const order = rankOrder(model)
  const enumerates = planned.length <= ENUMERATED_CONDITIONS && estimates.correlated
  const orders: Orders = enumerates ? { kind: 'all' } : { kind: 'one', order }
  // One condition a kernel is always possible, so there is no plan only where nothing is to be planned.
  const { plan, cost } = optimise(model, orders) ?? NO_KERNELS
  const kernels = [...plan.kernels, ...behind.map((_, i) => kernelOf(planned.length + i))]
  const left = model.rowsAfter(model.all)
  return {
    conditions: [...planned, ...behind],
    plan: { kernels },
    matchBy: matchings(model, plan),
    cost: cost + behindCost(behind, left, plan.kernels.length === 0, task),
    estimatedRows: rowsLeft(kernels, variant, task),
    model,
    order,
  }
}

const NO_KERNELS: CostedPlan = { plan: { kernels: [] }, cost: 0 }

function kernelOf(condition: number): SelectionPlan['kernels'][number] {
  return { groups: [[condition]], hands: 'rows' }
}

/** What conditions take that are evaluated one after the other, as if each left all rows. */
function behindCost(
  behind: readonly Condition[],
  rows: number,
  isFirst: boolean,
  { columns, costs }: SelectionTask,
): number {
  const waiting = isFirst ? costs.roundTrip : 0
  return behind.reduce((sum, each) => sum + costs.launch + rows * perListedRow(each, columns, costs), waiting)
}

/** As many conditions, in their order, as masks have room for, and the others: those of many columns among them. */
function plannable(conditions: readonly Condition[], implied: readonly Implied[]): Plannable {
  const used = new Set<number>()
  let count = 0
  const hasRoom = (condition: Condition) => {
    const columns = new Set([...used, ...columnsOf(condition)])
    if (count === PLANNED_CONDITIONS || columns.size > PLANNED_COLUMNS) return false
    for (const column of columns) used.add(column)
    count++
    return true
  }
  const planned: Condition[] = []
  const behind: Condition[] = []
  for (const condition of conditions) (hasRoom(condition) ? planned : behind).push(condition)
  const numberOf = (by: number) => {
    const number = planned.indexOf(conditions[by]!)
    return number === -1 ? undefined : number
  }
  return {
    conditions: planned,
    implied: implied
      .filter(({ condition }) => hasRoom(condition))
      .map(({ condition, by }) => ({ condition, by: numberOf(by) })),
    behind,
  }
}

function modelOf({ planned: conditions, estimates }: Estimated, task: SelectionTask): CostModel {
  const { rows, listedOf, columns, output, costs, buffers } = task
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
    input: listedOf === undefined ? 'table' : 'rows',
    tableRows: listedOf ?? rows,
    columns: used.map((column) => {
      return { width: widthOf(columns[column]!), nullable: columns[column]!.nullable }
    }),
    conditions: conditions.map((condition) => ({
      columns: known([...new Set(columnsOf(condition))]),
      evaluation: evaluationOf(condition, columns, costs),
      alone: condition.kind === 'expression',
    })),
    joint: (mask) => estimates.joint(mask),
    output: { rows: output.kind === 'rows', columns: known(wanted) },
    costs,
    buffers,
  })
}

function widthOf({ type }: ColumnFacts): ColumnWidth {
  return valueWords(type) === 2 ? 'wide' : 'word'
}

/** Strings are matched where they are looked at, or all of the dictionary's beforehand, by the rows that come to them. */
function matchings(model: CostModel, { kernels }: SelectionPlan): Map<number, MatchBy> {
  const matchBy = new Map<number, MatchBy>()
  let done = 0
  for (const { groups } of kernels) {
    const start = done
    for (const group of groups) {
      const before = done
      done = group.reduce((mask, condition) => mask | (1 << condition), done)
      const prepared = model.prepared(start, before, done)
      for (const condition of group) {
        if (model.problem.conditions[condition]!.evaluation.match === undefined) continue
        matchBy.set(condition, (prepared >> condition) & 1 ? 'dictionary' : 'row')
      }
    }
  }
  return matchBy
}

function rowsLeft(
  kernels: SelectionPlan['kernels'],
  { planned, estimates }: Estimated,
  { rows }: SelectionTask,
): number[] {
  let mask = 0
  return kernels.map(({ groups }) => {
    for (const condition of groups.flat()) if (condition < planned.length) mask |= 1 << condition
    return rows * estimates.joint(mask)
  })
}
