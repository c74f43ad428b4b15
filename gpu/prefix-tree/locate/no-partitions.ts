import { WarpdexError } from '../../../protocol/errors.js'
import type { Explanation, Traversal } from '../../../protocol/traversal.js'

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

/** What there is to say of a batch where a tree has no partitions. */
export function explainSequential(batch: number, digits: number): Explanation {
  return {
    strategy: 'sequential',
    batch,
    digits,
    partitions: null,
    reason: 'the index has no partitions, so that each key goes down the tree by itself',
    costs: [],
    tables: null,
  }
}
