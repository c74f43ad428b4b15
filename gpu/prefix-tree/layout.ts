import { WarpdexError } from '../../protocol/errors.js'
import { type FixedKeyType, isFixedKeyType } from '../../protocol/types.js'
import type { IndexShape } from '../index-structure.js'

/** Numbers of the prefix tree's records that the host needs; `layout.wesl` and `key.wesl` define and draw them. */
export const SLOTS = 16
export const EXTENT_HEADER = 5

const KEY_KINDS = { u32: 0, u64: 0, i32: 1, i64: 1, f32: 2, f64: 2 } as const

/** An index's shape in the words that kernels count in. */
export interface TreeShape {
  /** Words of a key: 1 or 2. Also chooses the kernels: those of two words are the `wide` ones. */
  readonly keyWords: 1 | 2
  /** Digits of a key. */
  readonly levels: 8 | 16
  readonly payloadWords: number
  /** Words of a tuple record. */
  readonly tupleStride: number
  /** Words of an entry of an extent. */
  readonly entryStride: number
  /** The shape as the kernels' `shape` parameter. */
  readonly word: number
}

export function treeShape(shape: IndexShape): TreeShape {
  const keyType = fixedKeyType(shape)
  const keyWords = keyType.endsWith('64') ? 2 : 1
  const payloadWords = Math.ceil(shape.payloadBytes / 4)
  const unique = shape.unique ? 1 : 0
  return {
    keyWords,
    levels: keyWords === 2 ? 16 : 8,
    payloadWords,
    tupleStride: keyWords + (shape.unique ? 0 : 2) + payloadWords,
    entryStride: 1 + payloadWords,
    word: KEY_KINDS[keyType] | (unique << 4) | (payloadWords << 8) | (shape.matchFrom << 16),
  }
}

/** @throws WarpdexError `BAD_REQUEST` for keys of variable length */
export function fixedKeyType({ keyType }: IndexShape): FixedKeyType {
  if (isFixedKeyType(keyType)) return keyType
  throw new WarpdexError('BAD_REQUEST', `keys of type ${keyType} cannot be on the device yet`)
}
