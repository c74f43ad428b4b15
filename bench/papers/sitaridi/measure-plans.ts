import type { Device } from '../../../gpu/device/device.js'
import type { Primitives } from '../../../gpu/primitives/primitives.js'
import type { SelectionTime, SelectionTimer } from '../../../gpu/relational/selection/selection-timer.js'
import type {
  Condition,
  SelectionCosts,
  SelectionOutput,
  SelectionPlan,
} from '../../../gpu/relational/selection/selection-types.js'
import { CostModel, type Evaluation } from '../../../src/query/selection/cost-model.js'
import { optimise, rankOrder } from '../../../src/query/selection/optimise.js'
import { allPlans, notationOf, planCost } from '../../../src/query/selection/plans.js'
import type { Effort } from '../../kernel-time.js'
import { leastAndMost, median } from '../../report.js'
import { keepWarm } from '../../warm-up.js'
import type { SelectTable } from './workload.js'

const WARM_UP = 2

/** A selection whose plans are measured. */
export interface Question {
  readonly table: SelectTable
  readonly conditions: readonly Condition[]
  /** The share of rows that satisfies each condition, independently of the others. */
  readonly selectivities: readonly number[]
  /** Bytes of a string that a condition looks through; 0 of those that look through none. */
  readonly matchedBytes: readonly number[]
  readonly output: SelectionOutput
  /** Rows that satisfy all conditions. */
  readonly count: number
}

/** What a plan took, in milliseconds. */
export interface PlanTime {
  readonly name: string
  readonly plan: SelectionPlan
  /** By the device's timestamps around all of its kernels, where it has timestamps. */
  readonly ms: number
  /** The least and the most of what `ms` is the middle of. */
  readonly spread: readonly [least: number, most: number]
  /** From the call until the result is on the device and the host knows its size. */
  readonly wall: number
  readonly estimated: number
}

/** All plans of a question that evaluate its conditions in their order, and the one that the planner chose. */
export interface Measured {
  readonly plans: readonly PlanTime[]
  readonly chosen: PlanTime
  readonly best: PlanTime
}

/** Measures plans, and asks the planner for its choice. */
export class PlanBench {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #timer: SelectionTimer
  readonly #effort: Effort
  readonly costs: SelectionCosts

  constructor(
    device: Device,
    primitives: Primitives,
    timer: SelectionTimer,
    costs: SelectionCosts,
    effort: Effort,
  ) {
    this.#device = device
    this.#primitives = primitives
    this.#timer = timer
    this.#effort = effort
    this.costs = costs
  }

  /**
   * Measures all plans, in rounds, so that whatever else the machine does is shared by all.
   * @throws Error where a plan selects another number of rows than it should
   */
  async measure(question: Question): Promise<Measured> {
    const model = this.#model(question)
    const choice = this.#choose(model)
    const inOrder = [...allPlans([...question.conditions.keys()])]
    const possible = inOrder.filter((plan) => Number.isFinite(planCost(model, plan)))
    const isOther = possible.every((plan) => !isSame(plan, choice))
    const times = await this.#time(question, model, isOther ? [...possible, choice] : possible)
    const chosen = times.find(({ plan }) => isSame(plan, choice))!
    const named = isOther ? { ...chosen, name: `${chosen.name}, other order` } : chosen
    const best = times.reduce((one, other) => (other.ms < one.ms ? other : one))
    return { plans: times.filter((time) => !isOther || time !== chosen), chosen: named, best }
  }

  /** Measures the plan that the planner chooses. */
  async chosen(question: Question): Promise<PlanTime> {
    const model = this.#model(question)
    const [time] = await this.#time(question, model, [this.#choose(model)])
    return time!
  }

  #choose(model: CostModel): SelectionPlan {
    return optimise(model, { kind: 'one', order: rankOrder(model) }).plan
  }

  async #time(question: Question, model: CostModel, plans: readonly SelectionPlan[]): Promise<PlanTime[]> {
    const taken = plans.map((): number[] => [])
    const walls = plans.map((): number[] => [])
    const end = performance.now() + 1e3 * this.#effort.seconds * plans.length
    for (let round = -WARM_UP; round < this.#effort.repeats; round++) {
      if (round > 0 && performance.now() > end) break
      for (const [i, plan] of plans.entries()) {
        const { kernels, wall } = await this.#run(question, plan)
        if (round < 0) continue
        taken[i]!.push((kernels ?? wall) / 1e6)
        walls[i]!.push(wall / 1e6)
      }
    }
    return plans.map((plan, i) => ({
      name: planName(plan),
      plan,
      ms: this.#typical(taken[i]!),
      spread: leastAndMost(taken[i]!),
      wall: this.#typical(walls[i]!),
      estimated: planCost(model, plan) / 1e6,
    }))
  }

  /** Where the CPU is the device, whatever else it does comes on top, and often. */
  #typical(times: readonly number[]): number {
    return this.#device.facts.software ? Math.min(...times) : median(times)
  }

  async #run({ table, conditions, output, count }: Question, plan: SelectionPlan): Promise<SelectionTime> {
    // The paper's predicate looks at the string of every row.
    const options = { matchBy: new Map(conditions.map((_, i) => [i, 'row'] as const)) }
    const selection = { conditions, plan, output, options }
    await keepWarm(this.#device, this.#primitives)
    const time = await this.#timer.time(table.columns, table.rows, selection)
    if (time.count === count) return time
    throw new Error(`${planName(plan)} selected ${time.count} rows, not ${count}`)
  }

  #model({ table, conditions, selectivities, matchedBytes, output }: Question): CostModel {
    // What the device takes is compared, and all plans wait for it once.
    const costs = { ...this.costs, roundTrip: 0 }
    const columns = table.columns.map(() => ({ width: 'word', nullable: false }) as const)
    return new CostModel({
      rows: table.rows,
      input: 'table',
      tableRows: table.rows,
      columns,
      conditions: conditions.map((condition, i) => ({
        columns: 'column' in condition ? [condition.column] : [],
        evaluation: evaluationOf(costs, matchedBytes[i]!),
      })),
      joint: (mask) => selectivities.reduce((all, share, i) => ((mask >> i) & 1 ? all * share : all), 1),
      output: {
        rows: output.kind === 'rows',
        columns: output.kind === 'columns' ? output.columns : [],
      },
      costs,
    })
  }
}

/** What looking at a value takes, or matching a string of so many bytes, of which no dictionary makes an end once for all. */
function evaluationOf({ predicate, match }: SelectionCosts, matchedBytes: number): Evaluation {
  if (matchedBytes === 0) return { perRow: predicate.interval }
  const perString = match.string + match.byte * matchedBytes
  const bytes = perString === 0 ? 0 : (match.byte * matchedBytes) / perString
  return {
    perRow: 0,
    match: { perRow: match.row, perString, bytes, strings: Number.MAX_SAFE_INTEGER, prepared: 0 },
  }
}

/** A plan as the paper writes it, and what its kernels hand on. */
function planName(plan: SelectionPlan): string {
  const handed = new Set(plan.kernels.slice(0, -1).map(({ hands }) => hands))
  return [notationOf(plan), ...handed].join(', ')
}

function isSame(a: SelectionPlan, b: SelectionPlan): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
