import { WarpdexError } from '../../../protocol/errors.js'
import type { Explanation, Traversal } from '../../../protocol/traversal.js'
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

/** What there is to say of a batch where a tree has no partitions, or nothing at all. */
export function explainSequential({ count, digits }: Batch, isEmpty: boolean): Explanation {
  return {
    strategy: 'sequential',
    batch: count,
    digits,
    partitions: null,
    reason: isEmpty
      ? 'the index is empty'
      : 'the index has no partitions, so that each key goes down the tree by itself',
    costs: [],
    tables: null,
  }
}
