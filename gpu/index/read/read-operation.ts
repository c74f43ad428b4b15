import { type Column, countOf } from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { type KeyType, keyWidth } from '../../../protocol/types.js'
import type { ReadColumns, ReadOp, ReadRequest, ReadResults } from '../../index-structure.js'
import type { Arena } from '../arena.js'
import type { TraversalPlan } from '../partitions/locator.js'

/** A tree that has something to be found. */
export interface SearchedTree {
  readonly arena: Arena
  readonly keys: number
  /** How keys are to be found; one after the other down from the root without it. */
  readonly plan: TraversalPlan | undefined
}

/**
 * A read of trees of one shape. It is one submission, made before its promise is returned, so that it sees the arena as it is at the
 * time of the call, whatever is written or destroyed afterwards. Long results with keys of variable length are the exception: they
 * read the keys' heap once more, so that nothing may be written to the arena, nor may it be destroyed, before they settle.
 */
export interface ReadOperation<Op extends ReadOp> {
  /** Whether it finds keys in one of several ways, which are to be chosen from before. */
  readonly isPlanned?: boolean
  run(tree: SearchedTree, request: ReadRequest<Op>, asked: Asked<Op>): Promise<ReadResults[Op]>
}

/** The columns of a read, and how many keys, ranges, or payloads that are due, it asks for. All reads but these have keys. */
export type Asked<Op extends ReadOp> = ReadColumns & { readonly count: number } & (Op extends
    | 'scan'
    | 'countRanges'
    | 'due'
    ? unknown
    : { readonly keys: Column })

/**
 * Keys of a column, by its length or its offsets.
 * @throws WarpdexError `WRONG_KEY_TYPE`
 */
export function keyCount(keyType: KeyType, keys: Column): number {
  const width = keyWidth(keyType)
  const count = countOf(keys)
  if (keys.width === width && Number.isInteger(count)) return count
  const right = width === undefined ? 'needs its offsets' : `takes ${width} bytes a key`
  const { byteLength } = keys.bytes
  throw new WarpdexError('WRONG_KEY_TYPE', `a column of ${keyType} keys ${right}; it has ${byteLength} bytes`)
}

/**
 * What a read asks for.
 * @throws WarpdexError `WRONG_KEY_TYPE`
 */
export function askedFor<Op extends ReadOp>(
  keyType: KeyType,
  request: ReadRequest<Op>,
  columns: ReadColumns,
): Asked<Op> {
  return { ...columns, count: countAsked(keyType, request, columns) } as Asked<Op>
}

function countAsked(keyType: KeyType, request: ReadRequest<ReadOp>, { keys }: ReadColumns): number {
  if ('until' in request) return request.limit
  if ('ranges' in request) return 'limit' in request && request.limit === 0 ? 0 : request.ranges
  if (keys === undefined) throw new WarpdexError('INTERNAL', 'the read needs a column of keys')
  return keyCount(keyType, keys)
}
