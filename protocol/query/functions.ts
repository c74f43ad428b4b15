import { LIMITS } from '../limits.js'
import { mismatch } from './mismatch.js'
import type { NodeReader } from './node-reader.js'
import type { FunctionName, ResultColumn } from './tree.js'
import { hasNulls, type TypedExpression } from './typed.js'
import { alike } from './unify.js'
import { isNumeric } from './value-types.js'

/** A function as it stands in a tree. */
interface Call {
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
interface FunctionRule {
  /** How many arguments it has, at least and at most. */
  readonly takes: readonly [least: number, most: number]
  /** @throws WarpdexError `BAD_REQUEST` for arguments that it does not take */
  readonly check: (call: Call) => TypedExpression
}

const RULES: Readonly<Record<FunctionName, FunctionRule>> = {
  /** In the type of its argument; of the least integer it is a fault. */
  abs: {
    takes: [1, 1],
    check: (call) => called(call, numeric(call, call.args[0]!).type),
  },
  /** The first argument that is not null. */
  coalesce: {
    takes: [1, LIMITS.queryExpressions],
    check: ({ reader, args, columns }) => {
      const values = alike(reader, args)
      if (values === undefined)
        throw reader.fault(`what coalesce chooses from must go together${mismatch(args, columns)}`)
      return values.reduceRight((rest, value) => {
        const nullable = value.nullable && rest.nullable
        return { kind: 'choose', args: [isNotNull(value), value, rest], type: rest.type, nullable }
      })
    },
  },
}

/**
 * Checks a function and its arguments.
 *
 * @param check what checks an argument
 * @throws WarpdexError `BAD_REQUEST`
 */
export function checkFunction(
  reader: NodeReader,
  name: FunctionName,
  columns: readonly ResultColumn[],
  check: (reader: NodeReader, columns: readonly ResultColumn[]) => TypedExpression,
): TypedExpression {
  const rule = RULES[name]
  const args = reader.children('args', ...rule.takes).map((argument) => check(argument, columns))
  return rule.check({ reader, name, args, columns })
}

/** A call that is null where one of its arguments is. */
function called(
  { name, args }: Call,
  type: TypedExpression['type'],
  nullable = hasNulls(args),
): TypedExpression {
  return { kind: 'call', function: name, args, type, nullable }
}

function numeric({ reader, name }: Call, value: TypedExpression): TypedExpression {
  if (!isNumeric(value.type)) throw reader.fault(`"${name}" needs numbers, not ${value.type}`)
  return value
}

function isNotNull(value: TypedExpression): TypedExpression {
  const isNull: TypedExpression = { kind: 'isNull', args: [value], type: 'boolean', nullable: false }
  return { kind: 'not', args: [isNull], type: 'boolean', nullable: false }
}
