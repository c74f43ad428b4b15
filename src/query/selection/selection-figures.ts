import type { SelectionExplanation, SelectionKernel } from '../../../protocol/query/explanation.js'
import type { ChosenPlan, SelectionTask } from './choose-plan.js'
import { describeCondition } from './describe-condition.js'
import { allPlans, planCost } from './enumerate-plans.js'
import { notationOf } from './notation.js'
import { type CostedPlan, optimise } from './optimise.js'

/** A selection that was carried out. */
interface RunSelection {
  readonly task: SelectionTask
  readonly chosen: ChosenPlan
  /** Rows that each kernel has left. */
  readonly left: readonly number[]
  /** Of the task's columns. */
  readonly names: readonly string[]
}

const NANOSECONDS = 1e6

/** Alternatives that are told of. */
const ALTERNATIVES = 4
/** Of up to so many conditions all plans are gone through for them: 1,024. */
const ENUMERATED_CONDITIONS = 6

/** What the selections of one operator were planned as, and what they have done. */
export class SelectionFigures {
  #rows = 0
  #estimated = 0
  #largest: RunSelection | undefined

  /** A selection whose result was known beforehand. */
  addTrivial(rows: number, selected: number): void {
    this.#rows += rows
    this.#estimated += selected
  }

  add(selection: RunSelection): void {
    this.#rows += selection.task.rows
    this.#estimated += selection.chosen.estimatedRows.at(-1)!
    if (this.#largest === undefined || selection.task.rows > this.#largest.task.rows)
      this.#largest = selection
  }

  /** The share of rows that were thought to be selected; undefined where there have been none. */
  get estimatedShare(): number | undefined {
    return this.#rows === 0 ? undefined : this.#estimated / this.#rows
  }

  /** The plan in short. */
  get method(): string | undefined {
    return this.#largest && notationOf(this.#largest.chosen.plan)
  }

  explain(): SelectionExplanation | undefined {
    if (this.#largest === undefined) return undefined
    const { task, chosen, names } = this.#largest
    const { plan, cost, conditions } = chosen
    const order = plan.kernels.flatMap(({ groups }) => groups.flat())
    return {
      plan: notationOf(plan),
      estimatedMilliseconds: cost / NANOSECONDS,
      conditions: order.map((number) => describeCondition(conditions[number]!, names, task.columns)),
      kernels: kernelsOf(this.#largest),
      alternatives: alternativesTo(chosen).map((other) => ({
        plan: notationOf(other.plan),
        estimatedMilliseconds: other.cost / NANOSECONDS,
      })),
    }
  }
}

function kernelsOf({ task, chosen, left }: RunSelection): SelectionKernel[] {
  const { kernels } = chosen.plan
  return kernels.map((kernel, i) => ({
    plan: notationOf({ kernels: [kernel] }),
    gives: i === kernels.length - 1 ? task.output.kind : kernel.hands,
    estimatedRows: Math.round(chosen.estimatedRows[i]!),
    rows: left[i]!,
  }))
}

/** The best plans of other forms, each form once. */
function alternativesTo({ model, order, plan }: ChosenPlan): CostedPlan[] {
  const seen = new Set([notationOf(plan)])
  const alternatives: CostedPlan[] = []
  for (const candidate of candidates({ model, order }).sort((a, b) => a.cost - b.cost)) {
    const notation = notationOf(candidate.plan)
    if (seen.has(notation) || !Number.isFinite(candidate.cost)) continue
    seen.add(notation)
    if (alternatives.push(candidate) === ALTERNATIVES) break
  }
  return alternatives
}

function candidates({ model, order }: Pick<ChosenPlan, 'model' | 'order'>): CostedPlan[] {
  if (order.length <= ENUMERATED_CONDITIONS) {
    return Array.from(allPlans(order), (plan) => ({ plan, cost: planCost(model, plan) }))
  }
  const branchFree = { kernels: [{ groups: [order], hands: 'rows' as const }] }
  const branching = { kernels: [{ groups: order.map((number) => [number]), hands: 'rows' as const }] }
  const best = optimise(model, { kind: 'one', order }, 'one')
  const fixed = [branchFree, branching].map((plan) => ({ plan, cost: planCost(model, plan) }))
  return best === undefined ? fixed : [best, ...fixed]
}
