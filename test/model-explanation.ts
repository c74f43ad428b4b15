import type { IndexShape } from '../gpu/index-structure.js'
import type { Explanation, ResultTables, Traversal } from '../protocol/traversal.js'

/** What a model says of a batch: a plausible explanation of the right form, made up but for what is given. */
export function modelExplanation(
  shape: IndexShape,
  batch: { readonly keys: number; readonly digits: number; readonly hasFirst: boolean },
  traversal: Traversal | undefined,
): Explanation {
  const { keys, digits, hasFirst } = batch
  const isPartitioned = shape.layout === 'full' || shape.partitionLevels !== undefined
  const levels = typeof shape.partitionLevels === 'number' ? shape.partitionLevels : 2
  return {
    strategy: 'sequential',
    ...traversal,
    batch: keys,
    digits,
    partitions: isPartitioned ? { count: 1004, levels } : null,
    reason: traversal === undefined ? 'a model has no choice' : 'the request names it',
    costs: isPartitioned
      ? [
          { strategy: 'sequential', microseconds: 1.25 },
          { strategy: 'speculative', resolution: 'reversed', microseconds: 1234 },
        ]
      : [],
    tables: isPartitioned ? paperTables(levels, hasFirst) : null,
  }
}

/** Tables 1 and 2 of the paper for a key that is there; for another its last partition leads nowhere. */
function paperTables(levels: number, isThere: boolean): ResultTables {
  return {
    rows: [
      { partition: 1, level: 0, result: 4, predecessor: null },
      { partition: 2, level: levels, result: 'payload', predecessor: null },
      { partition: 3, level: levels, result: null, predecessor: null },
      { partition: 4, level: levels, result: isThere ? 'payload' : null, predecessor: 1 },
    ],
    omitted: 1000,
    answer: isThere ? 4 : null,
  }
}
