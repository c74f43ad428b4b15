import { evaluateRows } from '../../../gpu/relational/expressions/evaluate.js'
import type { RowCode } from '../../../gpu/relational/expressions/row-code.js'
import { Table } from '../../../gpu/relational/query/table.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { NodeOf } from '../../../protocol/query/typed.js'
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
      const count = Math.min(most, pairs - first)
      yield await run.step(node, [], () => pairTable(run, left, right, first, count))
    }
  } finally {
    run.drop(left)
    run.drop(right)
  }
}

/** So many pairs from number `first` on; those of a left row come one after the other. */
async function pairTable(run: QueryRun, left: Table, right: Table, first: number, count: number) {
  const { work } = run
  // Rows and the pairs of a pass are each fewer than 2^31.
  const place = (code: RowCode) => code.let(`${code.word(first % right.rows)} + row`)
  const firstLeft = Math.floor(first / right.rows)
  const numbers = await evaluateRows(work, { count }, [
    (code) => code.computed('u32', `${code.word(firstLeft)} + ${place(code)} / ${code.word(right.rows)}`),
    (code) => code.computed('u32', `${place(code)} % ${code.word(right.rows)}`),
  ])
  const columns = [left, right].flatMap((side, i) => {
    return side.pick(work, { buffer: numbers[i]!.values, outer: false }, count).columns
  })
  return new Table(count, columns)
}
