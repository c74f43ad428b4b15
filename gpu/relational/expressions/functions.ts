import { storageOf } from '../../../protocol/column-types.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { FunctionName } from '../../../protocol/query/tree.js'
import { DATE_CODES } from './date-functions.js'
import type { FunctionCall, FunctionCode } from './function-code.js'
import { strict } from './operators.js'
import type { RowText } from './row-text.js'
import type { RowValue } from './row-value.js'

/** The code of the functions that `protocol/query/functions.ts` leaves as calls. */
const CODES: Readonly<Partial<Record<FunctionName, FunctionCode>>> = {
  abs: (code, [a]) => absolute(code, a!),
  ...DATE_CODES,
}

/** Adds what computes a call whose arguments are computed. */
export function calledFunction(code: RowText, call: FunctionCall, args: readonly RowValue[]): RowValue {
  const add = CODES[call.function]
  if (add === undefined) throw new WarpdexError('INTERNAL', `there is no code for ${call.function}`)
  return add(code, args, call)
}

function absolute(code: RowText, a: RowValue): RowValue {
  const { type, value } = a
  switch (storageOf(type)) {
    case 'f32':
      return strict(code, type, `${value} & 0x7fffffffu`, [a])
    case 'f64':
      return strict(code, type, `${code.use('double', 'double_magnitude')}(${value})`, [a])
    case 'i32':
      return strict(code, type, `u32(abs(bitcast<i32>(${value})))`, [a], `${value} == 0x80000000u`)
    case 'i64': {
      const negative = `${code.use('wide', 'is_negative')}(${value})`
      const magnitude = `select(${value}, ${code.use('wide', 'negate_wide')}(${value}), ${negative})`
      const isLeast = `all(${value} == vec2u(0u, 0x80000000u))`
      return strict(code, type, magnitude, [a], isLeast)
    }
    default:
      return a
  }
}
