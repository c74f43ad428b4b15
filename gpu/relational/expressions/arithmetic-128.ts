import type { ColumnType } from '../../../protocol/column-types.js'
import type { ArithmeticOp } from '../../../protocol/query/tree.js'
import { to128, withDigits } from './conversion.js'
import { MULTIPLICATION_128, strict } from './operators.js'
import type { RowText } from './row-text.js'
import type { RowValue } from './row-value.js'

const FUNCTIONS = { '+': 'sum_128', '-': 'difference_128', '*': 'product_128' } as const

/** Integers and decimals whose result is of 128 bits; what is past these, or the digits of the type, is a fault. */
export function arithmetic128(
  code: RowText,
  op: Exclude<ArithmeticOp, '/'>,
  type: ColumnType,
  operands: readonly RowValue[],
): RowValue {
  if (op === '*') code.weigh(MULTIPLICATION_128)
  const [a, b] = operands.map((operand) => to128(code, operand).value)
  const result = code.let(`${code.use('integers128', FUNCTIONS[op])}(${a}, ${b})`)
  return withDigits(code, strict(code, type, `${result}.value`, operands, `${result}.overflow`))
}
