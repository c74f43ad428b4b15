import type { SelectionCosts } from '../../../gpu/relational/selection/selection-types.js'
import { CostModel } from '../../../src/query/selection/cost-model.js'
import { optimise, rankOrder } from '../../../src/query/selection/optimise.js'
import { scattered } from '../../keys.js'
import { median, type Row } from '../../report.js'

/** Numbers of conditions; the paper goes to 10. */
const CONDITIONS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14]
const REPEATS = 200
const WARM_UP = 200

const ROWS = 2 ** 27

/** Figure 9: what the multi-kernel optimiser takes, the model of the problem included. */
export function measureOptimiser(costs: SelectionCosts): Row[] {
  return CONDITIONS.map((conditions) => {
    const taken: number[] = []
    for (let repeat = -WARM_UP; repeat < REPEATS; repeat++) {
      // Other selectivities each time lead to other plans.
      const shares = Array.from({ length: conditions }, (_, i) => scattered(repeat * 64 + i) / 2 ** 32)
      const begin = performance.now()
      const model = problemOf(costs, shares)
      optimise(model, { kind: 'one', order: rankOrder(model) })
      if (repeat >= 0) taken.push((performance.now() - begin) * 1e3)
    }
    return { name: `Figure 9, ${conditions} conditions`, figures: { µs: median(taken) } }
  })
}

function problemOf(costs: SelectionCosts, shares: readonly number[]): CostModel {
  return new CostModel({
    rows: ROWS,
    input: 'table',
    tableRows: ROWS,
    columns: shares.map(() => ({ width: 'word', nullable: false })),
    conditions: shares.map((_, i) => ({
      columns: [i],
      evaluation: { perRow: costs.predicate.interval },
    })),
    joint: (mask) => shares.reduce((all, share, i) => ((mask >> i) & 1 ? all * share : all), 1),
    output: { rows: true, columns: [] },
    costs,
  })
}
