import {
  type ColumnType,
  DECIMAL_DIGITS,
  type DecimalShape,
  decimalShape,
  decimalType,
  RESULT_DIGITS,
} from '../column-types.js'
import type { NodeReader } from './node-reader.js'
import type { ArithmeticOp } from './tree.js'
import type { Pair, TypedExpression } from './typed.js'
import { commonType, converted, mostDigits, shapeOf } from './value-types.js'

/**
 * Arithmetic of decimals, also with integers and constants, in the types that DuckDB gives it: a sum has a digit more than its operands, a product the digits of
 * both, and neither more than `mostDigits`, past which the query fails.
 * @returns undefined where neither side is a decimal, or one is a float
 * @throws WarpdexError `BAD_REQUEST` where decimals have too few digits
 */
export function decimalArithmetic(
  reader: NodeReader,
  op: Exclude<ArithmeticOp, '/'>,
  pair: Pair,
): TypedExpression | undefined {
  const shapes = pair.map(shapeOf)
  const [left, right] = shapes
  if (!pair.some(({ type }) => decimalShape(type) !== undefined) || left === undefined || right === undefined)
    return undefined
  if (op === '*') return product(reader, pair, [left, right])
  const common = commonType(pair)
  const args = pair.flatMap((value) => (common && converted(value, common)) ?? [])
  const shape = common && decimalShape(common)
  if (args.length < 2 || shape === undefined) throw tooLong(reader)
  const { precision, scale } = shape
  const type = decimalType(Math.min(precision + 1, mostDigits(left, right)), scale)
  return arithmetic(op, [args[0]!, args[1]!], type)
}

function product(
  reader: NodeReader,
  pair: Pair,
  shapes: readonly [DecimalShape, DecimalShape],
): TypedExpression {
  const args = pair.flatMap((value, i) => {
    const { precision, scale } = shapes[i]!
    return converted(value, decimalType(Math.min(precision, RESULT_DIGITS), scale)) ?? []
  })
  const [one, other] = shapes
  const scale = one.scale + other.scale
  if (args.length < 2 || scale > RESULT_DIGITS) throw tooLong(reader)
  const most = scale < DECIMAL_DIGITS ? mostDigits(one, other) : RESULT_DIGITS
  return arithmetic(
    '*',
    [args[0]!, args[1]!],
    decimalType(Math.min(one.precision + other.precision, most), scale),
  )
}

function arithmetic(op: ArithmeticOp, args: Pair, type: ColumnType): TypedExpression {
  return { kind: 'arithmetic', op, args, type, nullable: args.some(({ nullable }) => nullable) }
}

function tooLong(reader: NodeReader) {
  return reader.fault(`decimals have ${RESULT_DIGITS} digits, which is too few for this`)
}
