import type { Condition, SelectionOutput } from '../../../gpu/relational/selection/selection-types.js'
import type {
  SelectionExplanation,
  SelectionIndex,
  SelectionKernel,
} from '../../../protocol/query/explanation.js'
import type { ColumnDomain } from '../conditions/column-domain.js'
import { describeCondition } from '../conditions/describe-condition.js'
import type { ChosenPlan, RunnablePlan } from './choose-plan.js'
import { type CostedPlan, optimise } from './optimise.js'
import { allPlans, notationOf, planCost } from './plans.js'
import type { IndexUse } from './select-by-index.js'

/** A selection that was carried out. */
interface RunSelection {
  /** That were selected from. */
  readonly rows: number
  readonly output: SelectionOutput
  /** What has run; undefined where an index had all of it. */
  readonly plan: RunnablePlan | undefined
  /** What is thought of the best plan without an index. */
  readonly estimate: () => ChosenPlan
  /** The index that was used, if one was. */
  readonly use?: IndexUse | undefined
  /** Rows that each kernel has left. */
  readonly left: readonly number[]
  /** Of the columns that conditions mean. */
  readonly domains: readonly ColumnDomain[]
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
    if (this.#largest === undefined || selection.rows > this.#largest.rows) this.#largest = selection
  }

  /** The plan in short. */
  get method(): string | undefined {
    return this.#largest && methodOf(this.#largest)
  }

  explain(): SelectionExplanation | undefined {
    if (this.#largest === undefined) return undefined
    const { plan, use, domains, names } = this.#largest
    const chosen = this.#largest.estimate()
    const describe = (condition: Condition) => describeCondition(condition, names, domains)
    const order = plan?.plan.kernels.flatMap(({ groups }) => groups.flat()) ?? []
    const alternatives = [...(use === undefined ? [] : [chosen]), ...alternativesTo(chosen)]
    return {
      plan: methodOf(this.#largest),
      ...(use && { index: indexOf(use, describe) }),
      estimatedMilliseconds: (use?.choice.cost ?? chosen.cost) / NANOSECONDS,
      conditions: order.map((number) => describe(plan!.conditions[number]!)),
      kernels: plan === undefined ? [] : kernelsOf(this.#largest, use?.rest ?? chosen),
      alternatives: alternatives.map((other) => ({
        plan: notationOf(other.plan),
        estimatedMilliseconds: other.cost / NANOSECONDS,
      })),
    }
  }
}

function methodOf({ plan, use }: RunSelection): string {
  if (use === undefined) return plan === undefined ? '' : notationOf(plan.plan)
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

function kernelsOf({ output, left }: RunSelection, { plan, estimatedRows }: ChosenPlan): SelectionKernel[] {
  const { kernels } = plan
  return kernels.map((kernel, i) => ({
    plan: notationOf({ kernels: [kernel] }),
    gives: i === kernels.length - 1 ? output.kind : kernel.hands,
    estimatedRows: Math.round(estimatedRows[i]!),
    rows: left[i]!,
  }))
}

/** The best plans of other forms, each form once. */
function alternativesTo({ space, plan }: ChosenPlan): CostedPlan[] {
  const seen = new Set([notationOf(plan)])
  const alternatives: CostedPlan[] = []
  const others = space === undefined ? [] : candidates(space)
  for (const candidate of others.sort((a, b) => a.cost - b.cost)) {
    const notation = notationOf(candidate.plan)
    if (seen.has(notation)) continue
    seen.add(notation)
    if (alternatives.push(candidate) === ALTERNATIVES) break
  }
  return alternatives
}

function candidates({ model, order }: NonNullable<ChosenPlan['space']>): CostedPlan[] {
  if (order.length <= ENUMERATED_CONDITIONS) {
    return Array.from(allPlans(order), (plan) => ({ plan, cost: planCost(model, plan) }))
  }
  const branchFree = { kernels: [{ groups: [order], hands: 'rows' as const }] }
  const branching = { kernels: [{ groups: order.map((number) => [number]), hands: 'rows' as const }] }
  const best = optimise(model, { kind: 'one', order }, 'one')
  const fixed = [branchFree, branching].map((plan) => ({ plan, cost: planCost(model, plan) }))
  return [best, ...fixed]
}
