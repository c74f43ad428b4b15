import { nullOf } from './constants.js'
import type { ResultColumn } from './tree.js'
import { columnAt, type Pair, type TypedExpression } from './typed.js'
import { commonType, converted, isInteger } from './value-types.js'

/** The largest number that is both an `u64` and an `i64`. */
const LARGEST: TypedExpression = { kind: 'constant', value: 2n ** 63n - 1n, type: 'u64', nullable: false }

/**
 * Two columns as values of one type that are equal where the columns' are; undefined where there is no such type. Of integers without one those that are past
 * all of the other column are null, which equals nothing.
 */
export function comparable(
  left: ResultColumn,
  leftNumber: number,
  right: ResultColumn,
  rightNumber: number,
): Pair | undefined {
  const pair: Pair = [columnAt(left, leftNumber), columnAt(right, rightNumber)]
  if (left.type === right.type) return pair
  const type = commonType(pair)
  const [one, other] = pair.map((value) => type && converted(value, type))
  if (one !== undefined && other !== undefined) return [one, other]
  if (!isInteger(left.type) || !isInteger(right.type)) return undefined
  return [asSigned(pair[0]), asSigned(pair[1])]
}

function asSigned(value: TypedExpression): TypedExpression {
  if (value.type !== 'u64') return converted(value, 'i64')!
  const { nullable } = value
  const fits: TypedExpression = {
    kind: 'comparison',
    op: '<=',
    args: [value, LARGEST],
    type: 'boolean',
    nullable,
  }
  const signed: TypedExpression = { kind: 'convert', args: [value], type: 'i64', nullable }
  return { kind: 'choose', args: [fits, signed, nullOf('i64')], type: 'i64', nullable: true }
}
