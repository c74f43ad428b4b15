import { DECIMAL_DIGITS, type DecimalShape, decimalShape, decimalType } from '../column-types.js'
import type { NodeReader } from './node-reader.js'
import type { ArithmeticOp } from './tree.js'
import type { Pair, TypedExpression } from './typed.js'
import { commonType, converted, shapeOf } from './value-types.js'

/**
 * Arithmetic of decimals, also with integers and constants, in the types that DuckDB gives it: a sum has a digit more than its operands, a product the digits of
 * both, and neither more than 18, past which the query fails.
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
  const type = commonType(pair)
  const args = pair.flatMap((value) => (type && converted(value, type)) ?? [])
  const shape = type && decimalShape(type)
  if (args.length < 2 || shape === undefined) throw tooLong(reader)
  return arithmetic(op, [args[0]!, args[1]!], { precision: shape.precision + 1, scale: shape.scale })
}

function product(
  reader: NodeReader,
  pair: Pair,
  shapes: readonly [DecimalShape, DecimalShape],
): TypedExpression {
  const args = pair.flatMap((value, i) => {
    const { precision, scale } = shapes[i]!
    return converted(value, decimalType(Math.min(precision, DECIMAL_DIGITS), scale)) ?? []
  })
  const [{ precision, scale }, other] = shapes
  if (args.length < 2 || scale + other.scale > DECIMAL_DIGITS) throw tooLong(reader)
  const shape = { precision: precision + other.precision, scale: scale + other.scale }
  return arithmetic('*', [args[0]!, args[1]!], shape)
}

function arithmetic(op: ArithmeticOp, args: Pair, { precision, scale }: DecimalShape): TypedExpression {
  const type = decimalType(Math.min(precision, DECIMAL_DIGITS), scale)
  return { kind: 'arithmetic', op, args, type, nullable: args.some(({ nullable }) => nullable) }
}

function tooLong(reader: NodeReader) {
  return reader.fault(`decimals have ${DECIMAL_DIGITS} digits, which is too few for this`)
}
