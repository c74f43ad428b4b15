import { joinTables } from '../join-tables.js'
import type { NodeOf } from '../node-of.js'
import type { QueryRun } from '../query-run.js'
import type { Sides } from './sides.js'
import type { Tables } from './tables.js'

/** Rows of both sides that match. */
export async function* join(run: QueryRun, node: NodeOf<'join'>, sides: Sides): Tables {
  const [left, right] = await sides()
  try {
    yield* joinTables(run, node, node, left, right)
  } finally {
    run.drop(left)
    run.drop(right)
  }
}
