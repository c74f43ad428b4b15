import { type FixedKeyType, isFixedKeyType, isTupleKeyType, type KeyType } from '../../protocol/types.js'
import type { IndexShape } from '../index-structure.js'
import type { NormalForm } from '../keys/normalise.js'

/** Numbers of the prefix tree's records that the host needs; `layout.wesl` and `key/*.wesl` define and draw them. */
export const SLOTS = 16
/** Numbers that a node of a `coalesced` tree has: one for each partition of its group (Volk §4.2). */
export const LANES = 16
export const EXTENT_HEADER = 5
/** Words of a node's head, which nodes of `headed` shapes have, over keys of variable length and of one width. */
export const HEAD_WORDS = 4
export const FIXED_HEAD_WORDS = 2
/** Words of a tuple's links in key order, which tuples of `linked` shapes have. */
export const LINK_WORDS = 2

/** Bytes in front of a payload that say when it expires. */
export const EXPIRY_BYTES = 8

/** Bytes of a payload as reads return it. */
export function shownBytes({ payloadBytes, expires }: IndexShape): number {
  return expires ? payloadBytes - EXPIRY_BYTES : payloadBytes
}

const KEY_KINDS: { readonly [Type in FixedKeyType]: number } = {
  u32: 0,
  u64: 0,
  i32: 1,
  i64: 1,
  f32: 2,
  f64: 2,
}

/** An index's shape in the words that kernels count in. */
export interface TreeShape {
  /** Words of a key, or of the record of a key of variable length. */
  readonly keyWords: 1 | 2
  /** How keys of variable length become free of prefixes of each other; undefined for those of fixed width. */
  readonly form: NormalForm | undefined
  /** Whether keys compare as they come off the wire. */
  readonly isUnsigned: boolean
  /**
   * Which kernels: `wide` ones for keys of two words, `variable` ones for records of keys, `headed` ones for trees whose nodes have
   * heads: those over keys of variable length and those with partitions; `linked` ones for those whose tuples are linked in key order;
   * `coalesced` ones for trees whose nodes lie interleaved; `css` ones for CSS-trees, which have a sorted part beside the nodes.
   */
  readonly conditions: {
    readonly wide: boolean
    readonly variable: boolean
    readonly headed: boolean
    readonly linked: boolean
    readonly coalesced: boolean
    readonly css: boolean
  }
  /** Node numbers that the root takes. */
  readonly rootNodes: number
  /** Whether every key goes down all of its levels. */
  readonly full: boolean
  /** Levels of a partition; undefined for trees without partitions. */
  readonly partitionLevels: number | 'auto' | undefined
  /** Digits of a key of fixed width. */
  readonly levels: 8 | 16
  readonly payloadWords: number
  /** Leading words of a payload that reads leave out: when it expires. */
  readonly hiddenWords: number
  /** Words of a tuple record. */
  readonly tupleStride: number
  /** Tuples of a leaf of a CSS-tree's sorted part. */
  readonly leafTuples: number
  /** Words of an entry of an extent. */
  readonly entryStride: number
  /** The shape as the kernels' `shape` parameter. */
  readonly word: number
  /** The same where payloads are compared from their first word on. */
  readonly wholeWord: number
}

export function treeShape(shape: IndexShape): TreeShape {
  const { keyType } = shape
  const form = normalForm(keyType)
  const wide = form !== undefined || keyType.endsWith('64')
  const keyWords = wide ? 2 : 1
  const kind = isFixedKeyType(keyType) ? KEY_KINDS[keyType] : 0
  const full = shape.layout === 'full'
  const coalesced = shape.allocation === 'coalesced'
  const variable = form !== undefined
  const levels = wide ? 16 : 8
  const partitionLevels = partitionLevelsOf(shape, variable ? undefined : levels)
  const payloadWords = Math.ceil(shape.payloadBytes / 4)
  const unique = shape.unique ? 1 : 0
  const tupleStride = keyWords + (shape.unique ? 0 : 2) + payloadWords
  const leafLogarithm = variable ? 0 : leafTuplesLogarithm(tupleStride)
  const wholeWord = kind | (unique << 4) | (leafLogarithm << 5) | (payloadWords << 8)
  return {
    keyWords,
    form,
    isUnsigned: keyType === 'u32' || keyType === 'u64',
    conditions: {
      wide,
      variable,
      headed: variable || partitionLevels !== undefined,
      linked: shape.linked ?? false,
      coalesced,
      css: shape.structure === 'css',
    },
    rootNodes: coalesced ? LANES : 1,
    full,
    partitionLevels,
    levels,
    payloadWords,
    hiddenWords: shape.expires ? EXPIRY_BYTES / 4 : 0,
    tupleStride,
    leafTuples: 1 << leafLogarithm,
    entryStride: 1 + payloadWords,
    word: wholeWord | (shape.matchFrom << 16),
    wholeWord,
  }
}

/** Words of a leaf at most: a line of 64 bytes costs a GPU as much to fetch as a word of it. */
const LEAF_WORDS = 16

/** As many tuples as a leaf has room for, a power of two, up to 8. Over keys of variable length the directory tells all tuples apart. */
function leafTuplesLogarithm(tupleStride: number): number {
  return Math.max(0, Math.min(3, Math.floor(Math.log2(LEAF_WORDS / tupleStride))))
}

/**
 * Levels of a full tree over keys of variable length as far as partitions of a coalesced one go by them, where they are left to it: they must
 * be known before its first key is. 128 characters have as many.
 */
const VARIABLE_LEVELS = 256

/** @param levels of a full tree; undefined where keys have a variable length */
function partitionLevelsOf(
  { layout, allocation, partitionLevels }: IndexShape,
  levels = VARIABLE_LEVELS,
): TreeShape['partitionLevels'] {
  if (allocation === 'coalesced' && typeof partitionLevels !== 'number') return Math.round(Math.sqrt(levels))
  if (layout === 'full') return partitionLevels === 'none' ? 'auto' : (partitionLevels ?? 'auto')
  return partitionLevels === 'none' ? undefined : partitionLevels
}

function normalForm(type: KeyType): NormalForm | undefined {
  if (isFixedKeyType(type)) return undefined
  return isTupleKeyType(type) ? 'raw' : 'terminated'
}

/** Conditions of kernels that write tuples by `batch/new-tuple.wesl`. */
export function newTupleConditions(
  { conditions, tupleStride, keyWords }: TreeShape,
  payloadBytes: number,
): Readonly<Record<string, boolean>> {
  const quads = tupleStride === 4
  const pairs = !quads && keyWords === 2 && payloadBytes === 8
  return { ...conditions, quads, pairs, paired: pairs || (quads && payloadBytes === 8) }
}
