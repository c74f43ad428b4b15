/** Numbers that belong to a tree and are not on the device. */
export interface TreeTotals {
  readonly keys: number
  readonly payloads: number
  /** Tuples that have left since the last compaction. */
  readonly tuplesRemoved: number
  readonly garbageBytes: number
}

/** Those of an empty tree. */
export const NOTHING: TreeTotals = { keys: 0, payloads: 0, tuplesRemoved: 0, garbageBytes: 0 }

/** The totals once a write is applied. */
export function after(totals: TreeTotals, change: TreeTotals): TreeTotals {
  return {
    keys: totals.keys + change.keys,
    payloads: totals.payloads + change.payloads,
    tuplesRemoved: totals.tuplesRemoved + change.tuplesRemoved,
    garbageBytes: totals.garbageBytes + change.garbageBytes,
  }
}

/** The totals once the garbage is collected. */
export function compacted({ keys, payloads }: TreeTotals): TreeTotals {
  return { keys, payloads, tuplesRemoved: 0, garbageBytes: 0 }
}
