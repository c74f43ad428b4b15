import { WarpdexError } from '../../../protocol/errors.js'
import type { Rows } from '../../../protocol/rows.js'
import type { Traversal } from '../../../protocol/traversal.js'
import { isFixedKeyType, type KeyType, keyBytes } from '../../../protocol/types.js'
import type { ReadColumns, ReadOp, ReadRequest, ReadResults } from '../../index-structure.js'
import type { Arena } from '../arena.js'
import type { TraversalPlan } from '../partitions/locator.js'

/** A tree that has something to be found. */
export interface SearchedTree {
  readonly arena: Arena
  readonly keys: number
  /**
   * Plans how keys are to be found; undefined at once where there is nothing to plan, so that the read is submitted when it is called:
   * keys go down from the root then.
   */
  plan(keys: Rows, traversal: Traversal | undefined): Promise<TraversalPlan | undefined> | undefined
}

/**
 * A read of trees of one shape. It is one submission, made before its promise is returned, so that it sees the arena as it is at the
 * time of the call, whatever is written or destroyed afterwards. Long results with keys of variable length are the exception: they
 * read the keys' heap once more, so that nothing may be written to the arena, nor may it be destroyed, before they settle.
 */
export interface ReadOperation<Op extends ReadOp> {
  run(tree: SearchedTree, request: ReadRequest<Op>, columns: ReadColumns): Promise<ReadResults[Op]>
  /** What it comes to where nothing is asked for, or nothing is there. */
  none(request: ReadRequest<Op>, columns: ReadColumns): ReadResults[Op]
}

/** The column of keys that a read comes with. */
export function keysOf({ keys }: ReadColumns): Rows {
  if (keys === undefined) throw new WarpdexError('INTERNAL', 'the read needs a column of keys')
  return keys
}

/**
 * Keys of a column, by its length or its offsets.
 * @throws WarpdexError `WRONG_KEY_TYPE`
 */
export function keyCount(keyType: KeyType, { bytes, offsets }: Rows): number {
  if (!isFixedKeyType(keyType)) {
    if (offsets !== undefined && offsets.length > 0) return offsets.length - 1
    throw new WarpdexError('WRONG_KEY_TYPE', `a column of ${keyType} keys needs its offsets`)
  }
  const size = keyBytes(keyType)
  if (bytes.byteLength % size === 0) return bytes.byteLength / size
  throw new WarpdexError(
    'WRONG_KEY_TYPE',
    `${bytes.byteLength} bytes are no column of ${keyType} keys, which take ${size} bytes each`,
  )
}

/** How many keys, or ranges, a read asks for. */
export function askedFor<Op extends ReadOp>(
  keyType: KeyType,
  request: ReadRequest<Op>,
  columns: ReadColumns,
): number {
  if ('ranges' in request) return request.limit === 0 ? 0 : request.ranges
  return keyCount(keyType, keysOf(columns))
}

/** What comes in the place of keys that were not found. */
export function noKeys(keyType: KeyType, count: number): { keys: Uint8Array; keyOffsets?: Uint32Array } {
  if (isFixedKeyType(keyType)) return { keys: new Uint8Array(count * keyBytes(keyType)) }
  return { keys: new Uint8Array(0), keyOffsets: new Uint32Array(count + 1) }
}

export function noTokens(
  keyType: KeyType,
  ranges: number,
): { tokens: Uint8Array; tokenOffsets?: Uint32Array } {
  if (isFixedKeyType(keyType)) return { tokens: new Uint8Array(ranges * (keyBytes(keyType) + 4)) }
  return { tokens: new Uint8Array(0), tokenOffsets: new Uint32Array(ranges + 1) }
}
