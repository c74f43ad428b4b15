import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { ColumnShape, Columns } from '../columns.js'
import { scratchColumns } from '../columns.js'

/**
 * A relation of relational algebra: a dense array of tuples that are sorted by key (Diamos §4.3). The key is one or two words,
 * compared as an unsigned number; beside it lie up to two words of payload. Keys may repeat.
 */
export interface Tuples {
  readonly shape: ColumnShape
  readonly columns: Columns
  /** How many there are; how many at most where `count` is given. */
  readonly rows: number
  /** A word of the device with their number, where the host does not know it. */
  readonly count?: DeviceWord
  /** `tuple` where tuples of equal keys are in the order of their payloads; without payloads both are the same. */
  readonly order: 'key' | 'tuple'
}

/** Bytes of one tuple. */
export function tupleBytes({ keyWords, payloadWords }: ColumnShape): number {
  return 4 * (keyWords + payloadWords)
}

export function sameShape(first: ColumnShape, second: ColumnShape): boolean {
  return first.keyWords === second.keyWords && first.payloadWords === second.payloadWords
}

/** Whether tuples are in the order of all their words. */
export function isInTupleOrder({ order, shape }: Tuples): boolean {
  return order === 'tuple' || shape.payloadWords === 0
}

/** Room for that many tuples in scratch memory. */
export function scratchTuples(
  scratch: Scratch,
  shape: ColumnShape,
  rows: number,
  order: Tuples['order'],
  count?: DeviceWord,
): Tuples {
  const columns = scratchColumns(scratch, shape, Math.max(1, rows))
  return { shape, columns, rows, order, ...(count === undefined ? {} : { count }) }
}
