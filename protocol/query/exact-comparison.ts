import type { Constant } from './constants.js'
import { INTEGER_RANGES } from './integer-ranges.js'
import type { ComparisonOp } from './tree.js'
import type { Pair, TypedExpression } from './typed.js'
import { haveCommonInteger, isInteger } from './value-types.js'

/** The same comparison with its sides exchanged. */
export const TURNED: Readonly<Record<ComparisonOp, ComparisonOp>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

/** A comparison whose sides have one type. */
export interface AlikeComparison {
  readonly op: ComparisonOp
  readonly args: Pair
}

/**
 * A comparison of integers with a number that no integer type has for both, as one with an integer: x < 7.5 is x <= 7. As an `f32` the number, or
 * the integers, might be rounded past each other.
 * @returns undefined where both sides have a type in common, or one that is no constant is no integer
 */
export function exactComparison(op: ComparisonOp, [left, right]: Pair): AlikeComparison | undefined {
  return withConstant(op, left, right) ?? withConstant(TURNED[op], right, left)
}

function withConstant(
  op: ComparisonOp,
  integers: TypedExpression,
  constant: TypedExpression,
): AlikeComparison | undefined {
  if (constant.kind !== 'constant' || !isInteger(integers.type)) return undefined
  const range = INTEGER_RANGES[integers.type]!
  const floor = floorOf(constant, range)
  if (floor === undefined || haveCommonInteger(integers, constant)) return undefined
  const compared = (asked: ComparisonOp, value: bigint): AlikeComparison => {
    const bound: Constant = { kind: 'constant', value, type: integers.type, nullable: false }
    return { op: asked, args: [integers, bound] }
  }
  const [least, most] = range
  const [never, always] = [compared('<', least), compared('>=', least)]
  switch (op) {
    case '=':
      return never
    case '<>':
      return always
    case '<':
    case '<=':
      return floor >= most ? always : floor < least ? never : compared('<=', floor)
    default:
      return floor >= most ? never : floor < least ? always : compared('>', floor)
  }
}

/**
 * The largest integer that is not above a number; undefined for what is none, or is a float by its own type, or may have been rounded into the range
 * or out of it.
 */
function floorOf(
  { value, isFree, isInexact }: Constant,
  [least, most]: readonly [bigint, bigint],
): bigint | undefined {
  if (typeof value === 'bigint') return value
  if (typeof value !== 'number' || !isFree) return undefined
  const isKnown = !isInexact || value < Number(least) || value > Number(most)
  return isKnown ? BigInt(Math.floor(value)) : undefined
}
