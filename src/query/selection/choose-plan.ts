import {
  type Condition,
  columnsOf,
  type SelectionCosts,
  type SelectionOutput,
  type SelectionPlan,
} from '../../../gpu/relational/selection/selection-types.js'
import type { MatchBy } from '../../../gpu/relational/selection/selections.js'
import type { ColumnDomain } from '../conditions/column-domain.js'
import type { Normalised } from '../conditions/normalise.js'
import type { EstimatedColumn } from '../estimates/column-sample.js'
import { Estimates, shareOfAll } from '../estimates/condition-shares.js'
import { maskOf } from '../estimates/masks.js'
import { CostModel } from './cost-model.js'
import { evaluationOf, perMatchedRow, widthOf } from './evaluation-costs.js'
import { type Orders, optimise, rankOrder } from './optimise.js'
import { planCost } from './plans.js'

/** What is selected from, and to what end. */
export interface SelectionTask {
  readonly rows: number
  /** Rows of the table where these are in a list; unless given they are all of it. */
  readonly listedOf?: number
  readonly columns: readonly EstimatedColumn[]
  readonly output: SelectionOutput
  readonly costs: SelectionCosts
}

/** A plan, and what it needs to run. */
export interface RunnablePlan {
  /** What the plan's numbers mean. */
  readonly conditions: readonly Condition[]
  readonly plan: SelectionPlan
  /** How strings are matched, by the numbers of conditions that do; of others see `RunOptions`. */
  readonly matchBy: ReadonlyMap<number, MatchBy>
}

/** A plan with what is thought of it. */
export interface ChosenPlan extends RunnablePlan {
  /** Nanoseconds. */
  readonly cost: number
  /** Rows that each kernel is thought to leave. */
  readonly estimatedRows: readonly number[]
  /** By what it was chosen, with the order of conditions by rank; undefined where they are too many. */
  readonly space: { readonly model: CostModel; readonly order: readonly number[] } | undefined
}

/** More conditions are not planned: what comes behind so many hardly sees a row. */
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
  columns: readonly ColumnDomain[],
  rows: number,
  costs: SelectionCosts,
): RunnablePlan | undefined {
  if (rows * perRowOf(conditions, columns, costs) >= LEAST_PLANNED * costs.roundTrip) return undefined
  return { conditions, plan: oneKernel([[...conditions.keys()]]), matchBy: new Map() }
}

/** What looking at all columns takes, and evaluating all conditions, a row. */
function perRowOf(
  conditions: readonly Condition[],
  columns: readonly ColumnDomain[],
  costs: SelectionCosts,
): number {
  let perRow = 0
  for (const column of new Set(conditions.flatMap(columnsOf))) perRow += costs.scan[widthOf(columns[column]!)]
  for (const condition of conditions) perRow += perMatchedRow(evaluationOf(condition, columns, costs))
  return perRow
}

function oneKernel(groups: readonly (readonly number[])[]): SelectionPlan {
  return { kernels: [{ groups, hands: 'rows' }] }
}

/**
 * Chooses the plan of a selection by its costs (Sitaridi and Ross §4).
 * @param normalised with one condition at least
 */
export function choosePlan(normalised: Conjunction, task: SelectionTask): ChosenPlan {
  return plannerOf(normalised, task)(task.output)
}

/** Chooses plans of the same conditions for different outputs. */
export function plannerOf(
  { conditions, implied }: Conjunction,
  task: SelectionTask,
): (output: SelectionOutput) => ChosenPlan {
  // Without what the conditions imply, and with it, unless they are too many.
  const variants = (implied.length === 0 ? [[]] : [[], implied])
    .map((implied) => ({ implied, planned: [...conditions, ...implied.map(({ condition }) => condition)] }))
    .filter(({ planned }) => isPlannable(planned))
    .map(({ implied, planned }): Estimated => {
      return { planned, estimates: new Estimates(conditions, task.columns, implied) }
    })
  return (output) => {
    const plans = variants.map((variant) => planOf(variant, { ...task, output }))
    if (plans.length === 0) return estimatePlan(oneByOne(conditions), { ...task, output })
    return plans.reduce((best, plan) => (plan.cost < best.cost ? plan : best))
  }
}

/** Conditions, those that are implied last, and how many rows satisfy them. */
interface Estimated {
  readonly planned: readonly Condition[]
  readonly estimates: Estimates
}

function isPlannable(conditions: readonly Condition[]): boolean {
  return (
    conditions.length <= PLANNED_CONDITIONS && new Set(conditions.flatMap(columnsOf)).size <= PLANNED_COLUMNS
  )
}

function planOf(variant: Estimated, task: SelectionTask): ChosenPlan {
  const { planned, estimates } = variant
  const model = modelOf(variant, task)
  const order = rankOrder(model)
  const enumerates = planned.length <= ENUMERATED_CONDITIONS && estimates.correlated
  const orders: Orders = enumerates ? { kind: 'all' } : { kind: 'one', order }
  const { plan, cost } = optimise(model, orders)
  const runnable = { conditions: planned, plan, matchBy: matchings(model, plan) }
  return { ...runnable, cost, estimatedRows: rowsLeft(plan, model), space: { model, order } }
}

/** A branch for each condition, those of many columns last. */
function oneByOne(conditions: readonly Condition[]): RunnablePlan {
  const columns = conditions.map((condition) => columnsOf(condition).length)
  const order = [...conditions.keys()].sort((a, b) => columns[a]! - columns[b]!)
  return { conditions, plan: oneKernel(order.map((number) => [number])), matchBy: new Map() }
}

/** What is thought of a plan of one kernel that was not chosen by its costs. */
export function estimatePlan(runnable: RunnablePlan, task: SelectionTask): ChosenPlan {
  const { conditions, plan } = runnable
  const { rows, columns, costs } = task
  if (!isPlannable(conditions)) {
    const cost = costs.launch + costs.roundTrip + rows * perRowOf(conditions, columns, costs)
    return { ...runnable, cost, estimatedRows: [rows * shareOfAll(conditions, columns)], space: undefined }
  }
  const estimates = new Estimates(conditions, columns)
  const model = modelOf({ planned: conditions, estimates }, task)
  const space = { model, order: rankOrder(model) }
  return { ...runnable, cost: planCost(model, plan), estimatedRows: rowsLeft(plan, model), space }
}

function modelOf({ planned: conditions, estimates }: Estimated, task: SelectionTask): CostModel {
  const { rows, listedOf, columns, output, costs } = task
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
    })),
    joint: (mask) => estimates.joint(mask),
    output: { rows: output.kind === 'rows', columns: known(wanted) },
    costs,
  })
}

/** Strings are matched where they are looked at, or all of the dictionary's beforehand, by the rows that come to them. */
function matchings(model: CostModel, { kernels }: SelectionPlan): Map<number, MatchBy> {
  const matchBy = new Map<number, MatchBy>()
  let done = 0
  for (const { groups } of kernels) {
    const start = done
    for (const group of groups) {
      const before = done
      done |= maskOf(group)
      const prepared = model.prepared(start, before, done)
      for (const condition of group) {
        if (model.problem.conditions[condition]!.evaluation.match === undefined) continue
        matchBy.set(condition, (prepared >> condition) & 1 ? 'dictionary' : 'row')
      }
    }
  }
  return matchBy
}

function rowsLeft({ kernels }: SelectionPlan, model: CostModel): number[] {
  let mask = 0
  return kernels.map(({ groups }) => {
    mask |= maskOf(groups.flat())
    return model.rowsAfter(mask)
  })
}
