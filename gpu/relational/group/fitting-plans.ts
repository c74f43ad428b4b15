import type { TypedAggregate } from '../../../protocol/query/typed.js'
import type { DeviceWork } from '../query/device-work.js'
import type { GroupPlan } from './group-plan.js'

/** A plan for neighbouring aggregates, from number `first` on. */
export interface PartialPlan {
  readonly plan: GroupPlan
  readonly first: number
}

/** What a kernel is made of at most, as `RowText.weight` has it: drivers take longer than in proportion for longer ones. */
const MOST_WEIGHT = 4096

/**
 * Plans for aggregates, as few as kernels can carry out.
 * @param others buffers that a kernel binds beside those of a plan
 * @returns undefined where one aggregate alone is too much
 */
export function fittingPlans(
  work: DeviceWork,
  aggregates: readonly TypedAggregate[],
  others: number,
  make: (aggregates: readonly TypedAggregate[]) => GroupPlan,
  fits: (plan: GroupPlan) => boolean,
  first = 0,
): PartialPlan[] | undefined {
  const most = work.device.gpu.limits.maxStorageBuffersPerShaderStage - others
  const plan = make(aggregates)
  const { code } = plan
  if (code.bindings <= most && code.weight <= MOST_WEIGHT && fits(plan)) return [{ plan, first }]
  if (aggregates.length <= 1) return undefined
  const half = aggregates.length >> 1
  const left = fittingPlans(work, aggregates.slice(0, half), others, make, fits, first)
  const right = left && fittingPlans(work, aggregates.slice(half), others, make, fits, first + half)
  return right && [...left, ...right]
}
