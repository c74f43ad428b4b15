import type { TypedExpression } from '../../../protocol/query/typed.js'
import type { RowText } from './row-text.js'
import type { RowValue } from './row-value.js'

export type FunctionCall = Extract<TypedExpression, { kind: 'call' }>

/** Adds what computes a function of values. */
export type FunctionCode = (code: RowText, args: readonly RowValue[], call: FunctionCall) => RowValue
