import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { DeviceWork } from '../query/device-work.js'
import type { Matches } from './matches.js'

/** A word for each row of a side: not 0 for those that match something. */
export interface RowMatches {
  readonly flags: DeviceMemory
  readonly rows: number
}

/** Which rows of a side are asked for. */
export type Wanted = 'matched' | 'unmatched'

/** Rows of a side, ascending, whose number is on the device. */
export interface RecordedRows {
  readonly rows: DeviceMemory
  readonly total: DeviceWord
}

/** Rows of a side, none of which has been found to match yet. */
export function noMatches({ recorder }: DeviceWork, scratch: Scratch, rows: number): RowMatches {
  const flags = scratch.words(rows)
  recorder.clear(flags, 0, 4 * rows)
  return { flags, rows }
}

/**
 * The rows of the side that probes: their counts, where probes are rows in their order.
 * @param matches undefined where there are none
 */
export function probeMatches(
  work: DeviceWork,
  scratch: Scratch,
  matches: Matches | undefined,
  rows: number,
): RowMatches {
  if (matches === undefined) return noMatches(work, scratch, rows)
  const { counts, probes, rows: numbers } = matches
  if (numbers.probe === undefined) return { flags: counts, rows }
  const matched = noMatches(work, scratch, rows)
  work.kernels.primitives.scatter(work.recorder, counts, numbers.probe, matched.flags, probes, 1)
  return matched
}

/** Lists the rows that match something, or nothing. */
export function listRows(
  work: DeviceWork,
  scratch: Scratch,
  { flags, rows: count }: RowMatches,
  wanted: Wanted,
): RecordedRows {
  const rows = scratch.words(count)
  const total = { buffer: scratch.words(1), index: 0 }
  const which = wanted === 'matched' ? 'set' : 'unset'
  work.kernels.primitives.compact(work.recorder, scratch, flags, count, rows, total, which)
  return { rows, total }
}
