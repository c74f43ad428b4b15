import type { NodeReader } from './node-reader.js'
import type { FunctionName, ResultColumn } from './tree.js'
import { hasNulls, type TypedExpression } from './typed.js'
import { isNumeric } from './value-types.js'

/** A function as it stands in a tree. */
export interface Call {
  readonly reader: NodeReader
  readonly name: FunctionName
  readonly args: readonly TypedExpression[]
  /** Of the input of the node that has the expression. */
  readonly columns: readonly ResultColumn[]
}

/**
 * What a function takes, and what it comes to: an expression of what there is, or a call, for which `gpu/relational/expressions/functions.ts` has the code.
 * Unless it says otherwise, a function of a null is null.
 */
export interface FunctionRule {
  /** How many arguments it has, at least and at most. */
  readonly takes: readonly [least: number, most: number]
  /** @throws WarpdexError `BAD_REQUEST` for arguments that it does not take */
  readonly check: (call: Call) => TypedExpression
}

/** A call that is null where one of its arguments is. */
export function called(
  { name, args }: Call,
  type: TypedExpression['type'],
  nullable = hasNulls(args),
): TypedExpression {
  return { kind: 'call', function: name, args, type, nullable }
}

export function numeric({ reader, name }: Call, value: TypedExpression): TypedExpression {
  if (!isNumeric(value.type)) throw reader.fault(`"${name}" needs numbers, not ${value.type}`)
  return value
}
