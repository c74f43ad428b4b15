import type { KernelPlan, SelectionPlan } from '../../../gpu/relational/selection/selection-types.js'
import { numbersOf } from '../estimates/masks.js'
import type { CostModel, KernelInput } from './cost-model.js'

/** A plan, and what it is thought to cost in nanoseconds. */
export interface CostedPlan {
  readonly plan: SelectionPlan
  readonly cost: number
}

/** Inputs of kernels by their number. */
const INPUTS: readonly KernelInput[] = ['table', 'rows', 'columns']
const TABLE = 0
const ROWS = 1
const COLUMNS = 2

/** In which orders conditions may be evaluated: in one, or in any. */
export type Orders = { readonly kind: 'one'; readonly order: readonly number[] } | { readonly kind: 'all' }

/**
 * The cheapest plan (Sitaridi and Ross §4). A state is a set of conditions that have been evaluated: the beginnings of the order by rank, or all sets where
 * orders are to be enumerated.
 *
 * From each state the first dynamic programme finds the best kernel to every later one, as Algorithm 1 does: what is combined are a kernel that ends somewhere (the left
 * child) and a group of conditions behind it. Since `&&` is associative, a right child that is one group leaves no plan out; and since
 * the left child says which rows are left, the costs of the two add up exactly, for any selectivities. The second programme puts
 * kernels together, with rows or columns between them. Both take O(n³) for one order.
 *
 * @param kernels whether a plan may have more than one
 */
export function optimise(model: CostModel, orders: Orders, kernels: 'one' | 'many' = 'many'): CostedPlan {
  return new Optimiser(model, statesOf(model, orders)).best(kernels)
}

/** Numbers of conditions by rank, (selectivity − 1) / cost a tuple, ascending. */
export function rankOrder(model: CostModel): number[] {
  const { conditions, joint } = model.problem
  const ranks = conditions.map((_, i) => (joint(1 << i) - 1) / Math.max(model.perTuple(i), Number.MIN_VALUE))
  return [...conditions.keys()].sort((a, b) => ranks[a]! - ranks[b]!)
}

function statesOf(model: CostModel, orders: Orders): Int32Array {
  if (orders.kind === 'all') return Int32Array.from({ length: model.all + 1 }, (_, mask) => mask)
  const states = new Int32Array(orders.order.length + 1)
  orders.order.forEach((condition, i) => {
    states[i + 1] = states[i]! | (1 << condition)
  })
  return states
}

class Optimiser {
  readonly #model: CostModel
  readonly #states: Int32Array
  /** By state and input: the least cost of getting there, and the state and input that the last kernel began with. */
  readonly #best: Float64Array
  readonly #cameFrom: Int32Array
  /** By state, for the kernel that is looked at: the least cost up to there, and the state before the last group. */
  readonly #kernel: Float64Array
  readonly #groupBefore: Int32Array

  constructor(model: CostModel, states: Int32Array) {
    this.#model = model
    this.#states = states
    this.#best = new Float64Array(states.length * INPUTS.length).fill(Number.POSITIVE_INFINITY)
    this.#cameFrom = new Int32Array(states.length * INPUTS.length)
    this.#kernel = new Float64Array(states.length)
    this.#groupBefore = new Int32Array(states.length)
  }

  best(kernels: 'one' | 'many'): CostedPlan {
    const last = this.#states.length - 1
    this.#best[INPUTS.indexOf(this.#model.problem.input)] = 0
    let cost = Number.POSITIVE_INFINITY
    let from = 0
    for (let start = 0; start < last && (start === 0 || kernels === 'many'); start++) {
      for (let input = TABLE; input <= COLUMNS; input++) {
        const place = start * INPUTS.length + input
        // Whatever begins here takes longer than a plan that there is.
        if (this.#best[place]! + this.#overhead(start, input) >= cost) continue
        this.#growKernel(start, input)
        if (kernels === 'many') this.#handOn(start, input)
        const whole = this.#best[place]! + this.#finished(start, input)
        if (whole < cost) {
          cost = whole
          from = place
        }
      }
    }
    return { plan: this.#planTo(last, from), cost }
  }

  /** The first programme: kernels that begin at a state. */
  #growKernel(start: number, input: number): void {
    const states = this.#states
    const kernel = this.#kernel
    const first = states[start]!
    kernel.fill(Number.POSITIVE_INFINITY, start)
    kernel[start] = 0
    for (let after = start + 1; after < states.length; after++) {
      const mask = states[after]!
      if ((mask & first) !== first) continue
      for (let before = start; before < after; before++) {
        const earlier = states[before]!
        if ((mask & earlier) !== earlier || kernel[before]! >= kernel[after]!) continue
        const cost = kernel[before]! + this.#model.group(first, earlier, mask, INPUTS[input]!)
        if (cost >= kernel[after]!) continue
        kernel[after] = cost
        this.#groupBefore[after] = before
      }
    }
  }

  /** The second programme: what comes behind the kernels that begin at a state. */
  #handOn(start: number, input: number): void {
    const states = this.#states
    const place = start * INPUTS.length + input
    const first = states[start]!
    const begun = this.#best[place]! + this.#overhead(start, input)
    for (let after = start + 1; after < states.length - 1; after++) {
      if (this.#kernel[after] === Number.POSITIVE_INFINITY) continue
      // Numbers of rows of columns that were handed on would lead to nothing but these.
      for (let next = input === COLUMNS ? COLUMNS : ROWS; next <= COLUMNS; next++) {
        const hands = next === ROWS ? 'rows' : 'columns'
        const mask = states[after]!
        const handing = this.#model.handing(first, mask, INPUTS[input]!, hands)
        const cost = begun + this.#kernel[after]! + handing
        const target = after * INPUTS.length + next
        if (cost >= this.#best[target]!) continue
        this.#best[target] = cost
        this.#cameFrom[target] = place
      }
    }
  }

  #finished(start: number, input: number): number {
    const first = this.#states[start]!
    const name = INPUTS[input]!
    const evaluated = this.#kernel[this.#states.length - 1]!
    return evaluated + this.#overhead(start, input) + this.#model.finishing(first, name)
  }

  #overhead(start: number, input: number): number {
    return this.#model.overhead(this.#states[start]!, INPUTS[input]!)
  }

  #planTo(last: number, from: number): SelectionPlan {
    const kernels: KernelPlan[] = []
    let after = last
    let hands: KernelPlan['hands'] = 'rows'
    for (let place = from; ; place = this.#cameFrom[place]!) {
      const start = Math.floor(place / INPUTS.length)
      const input = place % INPUTS.length
      kernels.unshift({ groups: this.#groupsOf(start, after, input), hands })
      if (start === 0) return { kernels }
      hands = input === ROWS ? 'rows' : 'columns'
      after = start
    }
  }

  #groupsOf(start: number, after: number, input: number): number[][] {
    this.#growKernel(start, input)
    const groups: number[][] = []
    for (let end = after; end > start; end = this.#groupBefore[end]!) {
      groups.unshift(numbersOf(this.#states[end]! ^ this.#states[this.#groupBefore[end]!]!))
    }
    return groups
  }
}
