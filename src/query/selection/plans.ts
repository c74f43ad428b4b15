import type { KernelPlan, SelectionPlan } from '../../../gpu/relational/selection/selection-types.js'
import { maskOf } from '../estimates/masks.js'
import type { CostModel, KernelInput } from './cost-model.js'

/**
 * A plan as Sitaridi and Ross write it: of one kernel the sizes of its groups, S211; of several how many conditions each evaluates, K21, and behind that
 * the plan of each where one of them branches: K21 (S11, S1).
 */
export function notationOf({ kernels }: SelectionPlan): string {
  const single = kernels.map(({ groups }) => `S${sizes(groups.map(({ length }) => length))}`)
  if (single.length === 1) return single[0]!
  const all = kernels.map(({ groups }) => groups.reduce((sum, { length }) => sum + length, 0))
  const branches = kernels.some(({ groups }) => groups.length > 1)
  return `K${sizes(all)}${branches ? ` (${single.join(', ')})` : ''}`
}

/** Numbers of more than one digit need something between them. */
function sizes(numbers: readonly number[]): string {
  return numbers.join(numbers.some((number) => number > 9) ? '.' : '')
}

/** What a plan is thought to cost, in nanoseconds. */
export function planCost(model: CostModel, { kernels }: SelectionPlan): number {
  let cost = 0
  let done = 0
  let input: KernelInput = model.problem.input
  kernels.forEach(({ groups, hands }, i) => {
    const start = done
    cost += model.overhead(start, input)
    for (const group of groups) {
      const after = done | maskOf(group)
      cost += model.group(start, done, after, input)
      done = after
    }
    if (i === kernels.length - 1) cost += model.finishing(start, input)
    else cost += model.handing(start, done, input, hands)
    input = hands
  })
  return cost
}

/** All plans that evaluate conditions in an order: 4^(n − 1) less those that go back from columns to numbers of rows. */
export function* allPlans(order: readonly number[]): Generator<SelectionPlan> {
  for (const kernels of kernelLists(order, false)) yield { kernels }
}

function* kernelLists(order: readonly number[], hasColumns: boolean): Generator<KernelPlan[]> {
  for (let length = 1; length <= order.length; length++) {
    const rest = order.slice(length)
    for (const groups of groupings(order.slice(0, length))) {
      if (rest.length === 0) yield [{ groups, hands: 'rows' }]
      else {
        if (!hasColumns)
          for (const later of kernelLists(rest, false)) yield [{ groups, hands: 'rows' }, ...later]
        for (const later of kernelLists(rest, true)) yield [{ groups, hands: 'columns' }, ...later]
      }
    }
  }
}

function* groupings(order: readonly number[]): Generator<number[][]> {
  if (order.length === 0) yield []
  for (let length = 1; length <= order.length; length++) {
    for (const rest of groupings(order.slice(length))) yield [order.slice(0, length), ...rest]
  }
}
