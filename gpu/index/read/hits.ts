import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'

/** The entries that a search of ranges found, on the device: in scan order, `limit` places a range. */
export interface Hits {
  /** | tuple | entry | of each hit. */
  readonly hits: DeviceMemory
  /** Number of hits of each range, u32, and one word more. */
  readonly found: DeviceMemory
  /** 1 for each range that has an entry past its hits, u32. */
  readonly more: DeviceMemory
}

/** Ranges to search, on the device. */
export interface RangeSearch {
  readonly count: number
  readonly ranges: DeviceMemory
  /** Where the ranges' keys lie, if they have a variable length. */
  readonly heap: DeviceMemory | undefined
  readonly reverse: boolean
  /** Hits of each range. */
  readonly limit: number
  /** Whether payloads of the result are whole, with when they expire. */
  readonly isWhole?: boolean | undefined
}

export function allocateHits(scratch: Scratch, { count, limit }: RangeSearch): Hits {
  return {
    hits: scratch.words(2 * count * limit),
    found: scratch.words(count + 1),
    more: scratch.words(count),
  }
}
