import type { NodeOf } from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'
import type { Tables } from './tables.js'

/** Some of the rows, in the order in which they come; what follows them is not asked for. */
export async function* limit(run: QueryRun, node: NodeOf<'limit'>, input: Tables): Tables {
  let toSkip = node.offset
  let left = node.rows
  for await (const table of input) {
    const skipped = Math.min(toSkip, table.rows)
    const count = Math.min(left, table.rows - skipped)
    toSkip -= skipped
    left -= count
    yield await run.step(node, [table], () => table.slice(run.work, skipped, count))
    if (left === 0) return
  }
}
