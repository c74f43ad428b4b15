import type { Condition } from '../../../gpu/relational/selection/selection-types.js'
import type {
  SelectionExplanation,
  SelectionIndex,
  SelectionKernel,
} from '../../../protocol/query/explanation.js'
import { describeCondition } from '../conditions/describe-condition.js'
import type { ChosenPlan, SelectionTask } from './choose-plan.js'
import { allPlans, planCost } from './enumerate-plans.js'
import { notationOf } from './notation.js'
import { type CostedPlan, optimise } from './optimise.js'
import type { IndexUse } from './select-by-index.js'

/** A selection that was carried out. */
interface RunSelection {
  readonly task: SelectionTask
  /** The best plan without an index. */
  readonly chosen: ChosenPlan
  /** The index that was used instead, if one was. */
  readonly use?: IndexUse | undefined
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
  #largest: RunSelection | undefined

  add(selection: RunSelection): void {
    if (this.#largest === undefined || selection.task.rows > this.#largest.task.rows)
      this.#largest = selection
  }

  /** The plan in short. */
  get method(): string | undefined {
    return this.#largest && methodOf(this.#largest)
  }

  explain(): SelectionExplanation | undefined {
    if (this.#largest === undefined) return undefined
    const { task, chosen, use, names } = this.#largest
    const describe = (condition: Condition) => describeCondition(condition, names, task.columns)
    const ran = use === undefined ? chosen : use.rest
    const order = ran?.plan.kernels.flatMap(({ groups }) => groups.flat()) ?? []
    const alternatives = [...(use === undefined ? [] : [chosen]), ...alternativesTo(chosen)]
    return {
      plan: methodOf(this.#largest),
      ...(use && { index: indexOf(use, describe) }),
      estimatedMilliseconds: (use?.choice.cost ?? chosen.cost) / NANOSECONDS,
      conditions: order.map((number) => describe(ran!.conditions[number]!)),
      kernels: ran === undefined ? [] : kernelsOf(this.#largest, ran),
      alternatives: alternatives.map((other) => ({
        plan: notationOf(other.plan),
        estimatedMilliseconds: other.cost / NANOSECONDS,
      })),
    }
  }
}

function methodOf({ chosen, use }: RunSelection): string {
  if (use === undefined) return notationOf(chosen.plan)
  const index = use.name === undefined ? 'an index' : `index ${use.name}`
  return `${index}${use.rest === undefined ? '' : `, then ${notationOf(use.rest.plan)}`}`
}

function indexOf(
  { name, choice, answered, rows }: IndexUse,
  describe: (condition: Condition) => string,
): SelectionIndex {
  return {
    name,
    conditions: answered.map(describe),
    estimatedRows: Math.round(choice.estimatedRows),
    rows,
  }
}

function kernelsOf({ task, left }: RunSelection, { plan, estimatedRows }: ChosenPlan): SelectionKernel[] {
  const { kernels } = plan
  return kernels.map((kernel, i) => ({
    plan: notationOf({ kernels: [kernel] }),
    gives: i === kernels.length - 1 ? task.output.kind : kernel.hands,
    estimatedRows: Math.round(estimatedRows[i]!),
    rows: left[i]!,
  }))
}

/** The best plans of other forms, each form once; none where the model leaves out some of the conditions. */
function alternativesTo({ model, order, plan, conditions }: ChosenPlan): CostedPlan[] {
  if (order.length < conditions.length) return []
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
