import type { Device } from '../../gpu/device/device.js'
import type { SelectionTimer } from '../../gpu/relational/selection/selection-timer.js'
import type {
  Condition,
  SelectionCosts,
  SelectionOutput,
  SelectionPlan,
} from '../../gpu/relational/selection/selection-types.js'
import { CostModel } from '../../src/query/selection/cost-model.js'
import { allPlans, planCost } from '../../src/query/selection/enumerate-plans.js'
import { notationOf } from '../../src/query/selection/notation.js'
import { optimise, rankOrder } from '../../src/query/selection/optimise.js'
import { median } from '../report.js'
import type { Effort } from '../speculation/subject.js'
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
  /** By the device's timestamps around all of its kernels, where it has any. */
  readonly ms: number
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
  readonly #timer: SelectionTimer
  readonly #effort: Effort
  readonly costs: SelectionCosts

  constructor(device: Device, timer: SelectionTimer, costs: SelectionCosts, effort: Effort) {
    this.#device = device
    this.#timer = timer
    this.#effort = effort
    this.costs = costs
  }

  /** @throws Error where a plan selects another number of rows than it should */
  async measure(question: Question): Promise<Measured> {
    const model = this.#model(question)
    const choice = optimise(model, { kind: 'one', order: rankOrder(model) })
    if (choice === undefined) throw new Error('the planner found no plan')
    const plans: PlanTime[] = []
    for (const plan of allPlans([...question.conditions.keys()])) {
      if (Number.isFinite(planCost(model, plan))) plans.push(await this.#time(question, model, plan))
    }
    const name = planName(choice.plan)
    let chosen = plans.find(({ plan }) => JSON.stringify(plan) === JSON.stringify(choice.plan))
    chosen ??= { ...(await this.#time(question, model, choice.plan)), name: `${name}, other order` }
    const best = plans.reduce((one, other) => (other.ms < one.ms ? other : one), chosen)
    return { plans, chosen, best }
  }

  /** One plan of a question. */
  async one(question: Question, plan: SelectionPlan): Promise<PlanTime> {
    return this.#time(question, this.#model(question), plan)
  }

  async #time(question: Question, model: CostModel, plan: SelectionPlan): Promise<PlanTime> {
    const { table, conditions, output, count } = question
    const taken: number[] = []
    const walls: number[] = []
    const end = performance.now() + 1e3 * this.#effort.seconds
    for (let repeat = -WARM_UP; repeat < this.#effort.repeats; repeat++) {
      if (taken.length > 0 && performance.now() > end) break
      const time = await this.#timer.time(table.columns, table.rows, { conditions, plan, output })
      if (time.count !== count) {
        throw new Error(`${planName(plan)} selected ${time.count} rows, not ${count}`)
      }
      if (repeat < 0) continue
      taken.push((time.kernels ?? time.wall) / 1e6)
      walls.push(time.wall / 1e6)
    }
    const estimated = planCost(model, plan) / 1e6
    return { name: planName(plan), plan, ms: median(taken), wall: median(walls), estimated }
  }

  #model({ table, conditions, selectivities, matchedBytes, output }: Question): CostModel {
    const { costs } = this
    const columns = table.columns.map(() => ({ width: 'word', nullable: false }) as const)
    return new CostModel({
      rows: table.rows,
      columns,
      conditions: conditions.map((condition, i) => ({
        columns: 'column' in condition ? [condition.column] : [],
        evaluation: { perRow: costs.predicate.interval + costs.predicate.matchByte * matchedBytes[i]! },
        alone: false,
      })),
      joint: (mask) => selectivities.reduce((all, share, i) => ((mask >> i) & 1 ? all * share : all), 1),
      output: {
        rows: output.kind === 'rows',
        columns: output.kind === 'columns' ? output.columns : [],
      },
      costs,
      buffers: this.#device.gpu.limits.maxStorageBuffersPerShaderStage,
      touching: 'independent',
    })
  }
}

/** A plan as the paper writes it, and what its kernels hand on. */
export function planName(plan: SelectionPlan): string {
  const handed = new Set(plan.kernels.slice(0, -1).map(({ hands }) => hands))
  return [notationOf(plan), ...handed].join(', ')
}

/** The numbers of conditions of a plan's kernels, as in K21; K3 for a plan of one kernel. */
export function kernelShape({ kernels }: SelectionPlan): string {
  return `K${kernels.map(({ groups }) => groups.flat().length).join('')}`
}

/** Whether all of a plan's kernels hand on the same. */
export function handsOnly({ kernels }: SelectionPlan, what: 'rows' | 'columns'): boolean {
  return kernels.slice(0, -1).every(({ hands }) => hands === what)
}
