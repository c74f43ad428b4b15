import type { SelectionPlan } from '../../../gpu/relational/selection/selection-types.js'

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
