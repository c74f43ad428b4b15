import type { Effort } from '../../kernel-time.js'

/** How much of the evaluation is repeated. */
export interface Plan {
  /** Keys of the indexes, ascending. */
  readonly sizes: readonly number[]
  /** Those of them at which batches are measured; at the others only single lookups are. */
  readonly batchSizes: readonly number[]
  /** Keys of a batch, ascending; the first is 1. */
  readonly batches: readonly number[]
  /** Levels of a partition in Figure 8 (d). */
  readonly levels: readonly number[]
  readonly effort: Effort
  /** A batch that would take longer than so many seconds is left out. */
  readonly mostSeconds: number
}

/** Every fourth power of two. */
function batchesUpTo(logarithm: number): number[] {
  return Array.from({ length: logarithm / 2 + 1 }, (_, i) => 4 ** i)
}

const LEVELS = [2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64]

const HARDWARE: Plan = {
  sizes: [100, 300, 1000, 3000, 10_000, 30_000, 100_000],
  batchSizes: [1000, 100_000],
  batches: batchesUpTo(20),
  levels: LEVELS,
  effort: { repeats: 21, seconds: 1 },
  mostSeconds: 1,
}

const SOFTWARE: Plan = {
  sizes: [100, 200, 500, 1000, 2000],
  batchSizes: [2000],
  batches: batchesUpTo(10),
  levels: LEVELS,
  effort: { repeats: 21, seconds: 1 },
  mostSeconds: 2,
}

/** Enough to see that everything works. */
const QUICK: Plan = {
  sizes: [100, 200],
  batchSizes: [200],
  batches: [1, 16],
  levels: [4, 16],
  effort: { repeats: 3, seconds: 0.1 },
  mostSeconds: 1,
}

export function choosePlan(software: boolean, quick: boolean): Plan {
  if (quick) return QUICK
  return software ? SOFTWARE : HARDWARE
}
