import type { Arena } from '../arena.js'
import type { TreeTotals } from '../totals.js'

/** Garbage that is left alone: collecting it would free next to nothing. */
const LITTLE_GARBAGE_BYTES = 1024 * 1024
const LITTLE_GARBAGE_TUPLES = 16 * 1024

/** A CSS-tree's delta is merged past so many tuples, those that have left included, and past so much of the sorted part. */
const LITTLE_DELTA_TUPLES = 16 * 1024
const DELTA_SHARE = 1 / 8

/** Whether so much of a tree is garbage, or beside a CSS-tree's sorted part, that rebuilding it is worthwhile. */
export function isCompactionDue(arena: Arena, { keys, tuplesRemoved, garbageBytes }: TreeTotals): boolean {
  return (
    garbageBytes > Math.max(LITTLE_GARBAGE_BYTES, arena.usedBytes / 2) ||
    tuplesRemoved > Math.max(LITTLE_GARBAGE_TUPLES, keys) ||
    isMergeDue(arena, tuplesRemoved)
  )
}

/** Whether so much of a CSS-tree was written since the last merge, or has left it, that merging is worthwhile. */
function isMergeDue({ sorted, tuples }: Arena, tuplesRemoved: number): boolean {
  if (sorted === undefined) return false
  const changed = tuples.records - sorted.tuples + tuplesRemoved
  return changed > Math.max(LITTLE_DELTA_TUPLES, sorted.tuples * DELTA_SHARE)
}

/** Whether compaction would make room: by garbage that goes, or the nodes of a CSS-tree's delta. */
export function hasGarbage({ sorted, tuples }: Arena, { tuplesRemoved, garbageBytes }: TreeTotals): boolean {
  return tuplesRemoved > 0 || garbageBytes > 0 || (sorted !== undefined && tuples.records > sorted.tuples)
}
