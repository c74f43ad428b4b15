import { WarpdexError } from '../../../protocol/errors.js'
import type { FunctionName } from '../../../protocol/query/tree.js'
import { DATE_CODES } from './date-functions.js'
import type { FunctionCall, FunctionCode } from './function-code.js'
import { NUMBER_CODES } from './number-functions.js'
import type { RowText } from './row-text.js'
import type { RowValue } from './row-value.js'

/** The code of the functions that `protocol/query/functions.ts` leaves as calls. */
const CODES: Readonly<Partial<Record<FunctionName, FunctionCode>>> = {
  ...NUMBER_CODES,
  ...DATE_CODES,
}

/** Adds what computes a call whose arguments are computed. */
export function calledFunction(code: RowText, call: FunctionCall, args: readonly RowValue[]): RowValue {
  const add = CODES[call.function]
  if (add === undefined) throw new WarpdexError('INTERNAL', `there is no code for ${call.function}`)
  return add(code, args, call)
}
