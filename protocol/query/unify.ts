import { hasLostDigits, mismatch } from './mismatch.js'
import type { NodeReader } from './node-reader.js'
import type { ResultColumn } from './tree.js'
import type { Pair, TypedExpression } from './typed.js'
import { commonType, converted } from './value-types.js'

/**
 * Both sides of an operator as values of one type.
 * @throws WarpdexError `BAD_REQUEST` where there is none
 */
export function unified(reader: NodeReader, pair: Pair, columns: readonly ResultColumn[]): Pair {
  const [left, right] = alike(reader, pair) ?? []
  if (left !== undefined && right !== undefined) return [left, right]
  const why = mismatch(pair, columns)
  throw reader.fault(`${pair[0].type} and ${pair[1].type} do not go together${why}`)
}

/** Values as ones of a type that all of them go to; undefined where there is none. */
export function alike(reader: NodeReader, values: readonly TypedExpression[]): TypedExpression[] | undefined {
  // As an `f32` it would equal integers that it is not.
  if (hasLostDigits(values)) {
    throw reader.fault(
      'a whole number past 2^53 has lost digits, and meets integers; write it as a text with a type, such as {"value": "9007199254740993", "type": "u64"}',
    )
  }
  const type = commonType(values)
  const same = values.flatMap((value) => (type && converted(value, type)) ?? [])
  return same.length === values.length ? same : undefined
}
