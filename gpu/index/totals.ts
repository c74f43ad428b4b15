import type { WriteEffect } from './batch/batch.js'

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
export function after(totals: TreeTotals, effect: WriteEffect): TreeTotals {
  return {
    keys: totals.keys + effect.tuplesCreated - effect.tuplesRemoved,
    payloads: totals.payloads + effect.payloadsAdded - effect.payloadsRemoved,
    tuplesRemoved: totals.tuplesRemoved + effect.tuplesRemoved,
    garbageBytes: totals.garbageBytes + effect.garbageBytes,
  }
}

/** The totals once the garbage is collected. */
export function compacted({ keys, payloads }: TreeTotals): TreeTotals {
  return { keys, payloads, tuplesRemoved: 0, garbageBytes: 0 }
}
