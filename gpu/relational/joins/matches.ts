import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { PairColumns, Slice, Window } from './expand.js'
import type { JoinAlgorithm } from './join-types.js'
import type { Tally } from './tally.js'

/** The sides of a join by what they do in it: every row of the one is a probe, and finds its matches in the other. */
export interface Roles<Side> {
  readonly probe: Side
  readonly build: Side
}

/** What the first phase of a join leaves: of each probe the run of rows that it matches. */
export interface Matches {
  readonly algorithm: JoinAlgorithm
  readonly probes: number
  /** Of each probe: the number of its matches, and where they begin in `buildRows`. */
  readonly counts: GPUBuffer
  readonly firsts: GPUBuffer
  /** Undefined where a probe's number is its row, or a place in the run is. */
  readonly rows: Roles<GPUBuffer | undefined>
  /** Probes whose rows repeat those of the first ones after so many; `probes` where none do. */
  readonly period: number
  readonly tally: Tally
  /** Writes the pairs of a slice by finding them again, where runs do not tell what they are; undefined where they do. */
  readonly rewrite?: (slice: Slice) => PairWriter
}

/** Records the writing of a window's pairs to the front of columns, and marks build rows if there are marks for them. */
export type PairWriter = (
  recorder: Recorder,
  scratch: Scratch,
  window: Window,
  output: PairColumns,
  marks: GPUBuffer | undefined,
) => void

/** What a probe's key matches: from key - below to key + above. */
export interface KeyRange {
  readonly below: bigint
  readonly above: bigint
}

/** As params of kernels: `below` and `above`, each low word first. */
export function rangeParams({ below, above }: KeyRange): readonly number[] {
  return [below, above].flatMap((width) => [Number(width & 0xffffffffn), Number(width >> 32n)])
}

/** Matches before they are counted. */
export type Uncounted = Omit<Matches, 'tally'>
