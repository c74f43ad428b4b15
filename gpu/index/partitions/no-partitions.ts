import { WarpdexError } from '../../../protocol/errors.js'
import type { Explanation, Traversal } from '../../../protocol/traversal.js'
import type { Arena } from '../arena.js'
import type { Batch } from './traversal-planner.js'

/**
 * Refuses a traversal that goes down partitions, for a tree that has none.
 * @throws WarpdexError `BAD_REQUEST`
 */
export function refusePartitioned(traversal: Traversal | undefined): void {
  if (traversal === undefined || traversal.strategy === 'sequential') return
  throw new WarpdexError(
    'BAD_REQUEST',
    `the index has no partitions to traverse by strategy ${traversal.strategy}; use sequential, or create the index with layout full or with partitionLevels`,
  )
}

/** What there is to say of a batch where a tree has no partitions, or nothing at all: then there is no arena. */
export function explainSequential({ count, digits }: Batch, arena: Arena | undefined): Explanation {
  return {
    strategy: 'sequential',
    batch: count,
    digits,
    partitions: null,
    reason: reasonOf(arena),
    costs: [],
    tables: null,
  }
}

function reasonOf(arena: Arena | undefined): string {
  if (arena === undefined) return 'the index is empty'
  const { sorted, tuples } = arena
  if (sorted === undefined)
    return 'the index has no partitions, so that each key goes down the tree by itself'
  const written = tuples.records - sorted.tuples
  const delta =
    written === 0 ? '' : `, and then in the tree of the ${written} that were written since the last merge`
  return `the index is a CSS-tree: each key is looked up in its ${sorted.tuples} sorted keys${delta}`
}
