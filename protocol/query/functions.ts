import { LIMITS } from '../limits.js'
import { DATE_RULES } from './date-functions.js'
import type { FunctionRule } from './function-rule.js'
import { mismatch } from './mismatch.js'
import type { NodeReader } from './node-reader.js'
import { NUMBER_RULES } from './number-functions.js'
import { TEXT_RULES } from './text-functions.js'
import type { FunctionName, ResultColumn } from './tree.js'
import type { TypedExpression } from './typed.js'
import { alike } from './unify.js'

const RULES: Readonly<Record<FunctionName, FunctionRule>> = {
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
  ...NUMBER_RULES,
  ...DATE_RULES,
  ...TEXT_RULES,
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

function isNotNull(value: TypedExpression): TypedExpression {
  const isNull: TypedExpression = { kind: 'isNull', args: [value], type: 'boolean', nullable: false }
  return { kind: 'not', args: [isNull], type: 'boolean', nullable: false }
}
