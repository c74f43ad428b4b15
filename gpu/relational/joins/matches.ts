import type { DeviceWork } from '../query/device-work.js'
import type { PairColumns, Slice, Window } from './expand.js'
import type { JoinAlgorithm } from './join-types.js'
import type { Tally } from './tally.js'

/** The sides of a join by what they do in it: every row of the one is a probe, and finds its matches in the other. */
export interface Roles<Side> {
  readonly probe: Side
  readonly build: Side
}

/** Of each probe the run of rows that it matches. */
export interface Runs {
  /** Where its matches begin. */
  readonly firsts: GPUBuffer
  /** How many they are. */
  readonly counts: GPUBuffer
}

/** What the first phase of a join leaves. */
export interface Matches extends Runs {
  readonly algorithm: JoinAlgorithm
  readonly probes: number
  /** Undefined where a probe's number is its row, or a place in the run is. */
  readonly rows: Roles<GPUBuffer | undefined>
  /** Probes whose rows repeat those of the first ones after so many; `probes` where none do. */
  readonly period: number
  /** What they come to, where that is known already. */
  readonly tally?: Tally
  /** Writes the pairs of a slice by finding them again, where runs of several do not tell what they are; undefined where they do. */
  readonly rewrite?: (slice: Slice) => PairWriter
}

/**
 * Records the writing of a window's pairs to the front of columns.
 * @param matched a word for each build row, set to 0 for those that are written, if there is one
 */
export type PairWriter = (
  work: DeviceWork,
  window: Window,
  output: PairColumns,
  matched: GPUBuffer | undefined,
) => void

/** What a probe's key matches: from key - below to key + above. */
export interface KeyRange {
  readonly below: bigint
  readonly above: bigint
}

/** As params of kernels. */
export function rangeParams({ below, above }: KeyRange) {
  const [belowLow, belowHigh] = words(below)
  const [aboveLow, aboveHigh] = words(above)
  return { belowLow, belowHigh, aboveLow, aboveHigh }
}

function words(width: bigint): readonly [low: number, high: number] {
  return [Number(width & 0xffffffffn), Number(width >> 32n)]
}
