import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import type { KeyWords, Primitives, SortOptions } from '../../../gpu/primitives/primitives.js'

/** Widths of a column of keys and of the column of payloads beside it, in u32 words; 0 payload words where there is none. */
export interface ColumnShape {
  /** A key of two words is a u64, low word first. */
  readonly keyWords: KeyWords
  readonly payloadWords: 0 | 1 | 2
}

/** Equally many keys and payloads. */
export interface Columns {
  readonly keys: DeviceMemory
  /** Undefined where the shape has no payloads. */
  readonly payloads: DeviceMemory | undefined
}

/** Conditions of kernels over columns of this shape (`columns.wesl`). */
export function columnConditions({ keyWords, payloadWords }: ColumnShape): Readonly<Record<string, boolean>> {
  return { wide: keyWords === 2, payload: payloadWords > 0, wide_payload: payloadWords === 2 }
}

/** Scratch columns for `count` elements. */
export function scratchColumns(scratch: Scratch, shape: ColumnShape, count: number): Columns {
  return {
    keys: scratch.words(count * shape.keyWords),
    payloads: shape.payloadWords > 0 ? scratch.words(count * shape.payloadWords) : undefined,
  }
}

/**
 * Sorts columns of any shape by key, stably. Left as they are.
 * @returns scratch columns
 */
export function sortColumns(
  primitives: Primitives,
  recorder: Recorder,
  scratch: Scratch,
  { keys, payloads }: Columns,
  count: number,
  { keyWords, payloadWords }: ColumnShape,
  options?: SortOptions,
): Columns {
  const values = payloadWords === 1 ? payloads : undefined
  const sorted = primitives.sort(recorder, scratch, keys, values, count, keyWords, options)
  if (payloadWords === 1) return { keys: sorted.keys, payloads: sorted.values }
  if (payloadWords === 0 || payloads === undefined) return { keys: sorted.keys, payloads: undefined }
  const moved = scratch.words(count * payloadWords)
  primitives.gather(recorder, payloads, sorted.values, moved, count, payloadWords)
  return { keys: sorted.keys, payloads: moved }
}
