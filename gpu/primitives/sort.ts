import type { Recorder } from '../device/recorder.js'
import type { DeviceMemory } from '../memory/page-run.js'
import type { Scratch } from '../memory/scratch.js'

/** 32-bit words of a key; a key of two words is a u64, low word first. */
export type KeyWords = 1 | 2

export interface SortOptions {
  /** Sort by this many of the lowest bits, 1 or more; all bits if absent. */
  readonly bits?: number
  /** But not by this many lowest ones, a multiple of 8 below `bits`; 0 if absent. */
  readonly from?: number
}

/** Columns of pairs in key order. */
export interface SortedPairs {
  readonly keys: DeviceMemory
  readonly values: DeviceMemory
}

/** Columns that are sorted, without values where those are the positions of the keys. */
export interface UnsortedPairs {
  readonly keys: DeviceMemory
  readonly values: DeviceMemory | undefined
}

/**
 * Sorts pairs of a key and a u32 value by key, stably. Keys and values are left as they are.
 * @param values the positions 0…count-1 if undefined
 * @param keyWords 1 for u32 keys, 2 for u64 keys (low word first)
 * @returns scratch buffers with the sorted keys and their values
 */
export type Sort = (
  recorder: Recorder,
  scratch: Scratch,
  keys: DeviceMemory,
  values: DeviceMemory | undefined,
  count: number,
  keyWords: KeyWords,
  options?: SortOptions,
) => SortedPairs

/** The buffers of a kernel that sorts pairs. It does not look at values that are none. */
export function pairBuffers({ keys, values }: UnsortedPairs, sorted: SortedPairs) {
  return { keys, values: values ?? keys, sortedKeys: sorted.keys, sortedValues: sorted.values }
}
