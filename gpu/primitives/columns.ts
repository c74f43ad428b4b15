import type { NumberedBinding } from '../device/kernel.js'
import type { Scratch } from '../memory/scratch.js'
import type { KeyWords } from './sort.js'

/** Widths of a column of keys and of the column of payloads beside it, in u32 words; 0 payload words where there is none. */
export interface ColumnShape {
  /** A key of two words is a u64, low word first. */
  readonly keyWords: KeyWords
  readonly payloadWords: 0 | 1 | 2
}

/** Equally many keys and payloads. */
export interface Columns {
  readonly keys: GPUBuffer
  /** Undefined where the shape has no payloads. */
  readonly payloads: GPUBuffer | undefined
}

/** Conditions of kernels over columns of this shape (`columns.wesl`). */
export function columnConditions({ keyWords, payloadWords }: ColumnShape): Readonly<Record<string, boolean>> {
  return { wide: keyWords === 2, payload: payloadWords > 0, wide_payload: payloadWords === 2 }
}

/** Bindings that a kernel has only where the shape has payloads. */
export function ifPayload(shape: ColumnShape, ...bindings: NumberedBinding[]): readonly NumberedBinding[] {
  return shape.payloadWords > 0 ? bindings : []
}

/** Buffers of columns in the order of their bindings. */
export function columnBuffers({ keys, payloads }: Columns): readonly GPUBuffer[] {
  return payloads === undefined ? [keys] : [keys, payloads]
}

/** Scratch columns for `count` elements. */
export function scratchColumns(scratch: Scratch, shape: ColumnShape, count: number): Columns {
  return {
    keys: scratch.words(count * shape.keyWords),
    payloads: shape.payloadWords > 0 ? scratch.words(count * shape.payloadWords) : undefined,
  }
}
