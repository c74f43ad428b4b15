import type { Recorder } from '../device/recorder.js'
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
  readonly keys: GPUBuffer
  readonly values: GPUBuffer
}

/** A stable sort of pairs, as `Primitives.sort`. */
export interface Sort {
  record(
    recorder: Recorder,
    scratch: Scratch,
    keys: GPUBuffer,
    values: GPUBuffer | undefined,
    count: number,
    keyWords: KeyWords,
    options?: SortOptions,
  ): SortedPairs
}

/** Columns that are sorted, without values where those are the positions of the keys. */
export interface UnsortedPairs {
  readonly keys: GPUBuffer
  readonly values: GPUBuffer | undefined
}

/** The buffers of a kernel that sorts pairs, and the parameter that says whether it looks at the values. */
export function pairBuffers({ keys, values }: UnsortedPairs, sorted: SortedPairs) {
  return { keys, values: values ?? keys, sortedKeys: sorted.keys, sortedValues: sorted.values }
}
