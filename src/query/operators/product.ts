import { Table } from '../../../gpu/relational/query/table.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { NodeOf } from '../node-of.js'
import type { QueryRun } from '../query-run.js'
import type { Sides } from './sides.js'
import type { Tables } from './tables.js'

/** Of the numbers of two rows. */
const PAIR_BYTES = 8

/** Each row of the left with each of the right, as many at a time as a pass may make. */
export async function* product(run: QueryRun, node: NodeOf<'product'>, sides: Sides): Tables {
  const [left, right] = await sides()
  try {
    const pairs = left.rows * right.rows
    const most = Math.floor(LIMITS.queryPassBytes / PAIR_BYTES)
    for (let first = 0; first === 0 || first < pairs; first += most) {
      yield await run.step(node, [], () => {
        const count = Math.min(most, pairs - first)
        const numbers = run.work.kernels.rowPairs.record(run.work, first, count, right.rows)
        const sides = [left.pick(run.work, numbers.left, count), right.pick(run.work, numbers.right, count)]
        return new Table(
          count,
          sides.flatMap(({ columns }) => columns),
        )
      })
    }
  } finally {
    run.drop(left)
    run.drop(right)
  }
}
