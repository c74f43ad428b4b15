import { joinTables } from '../join-tables.js'
import type { NodeOf } from '../node-of.js'
import type { QueryRun } from '../query-run.js'
import { collect, type Tables } from './tables.js'

/** Rows of both sides that match. */
export async function* join(run: QueryRun, node: NodeOf<'join'>, lefts: Tables, rights: Tables): Tables {
  const left = await collect(run, node.left, lefts)
  const right = await collect(run, node.right, rights)
  try {
    yield* joinTables(run, node, node, left, right)
  } finally {
    run.drop(left)
    run.drop(right)
  }
}
