import type { ComparisonOp } from '../../../protocol/query/tree.js'
import { columnsRead, type TypedExpression } from '../../../protocol/query/typed.js'
import type { EstimatedColumn } from './column-sample.js'

const HOLDS: Readonly<Record<ComparisonOp, (left: bigint, right: bigint) => boolean>> = {
  '=': (left, right) => left === right,
  '<>': (left, right) => left !== right,
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
}

/** Whether something is true for a row of a sample: 1, false: −1, or null: 0. So `not` turns the sign, `and` is the least, and `or` the most. */
type Truth = (row: number) => number

/** A bit for each row of a sample that satisfies comparisons of two of its columns each; undefined of other expressions. */
export function comparedRows(
  expression: TypedExpression,
  columns: readonly EstimatedColumn[],
): Uint32Array | undefined {
  const sampled = columnsRead(expression).map((column) => columns[column]!.from)
  const [first] = sampled
  if (first === undefined || sampled.some((from) => from?.source !== first.source)) return undefined
  const truth = truthOf(expression, columns)
  if (truth === undefined) return undefined
  const bits = new Uint32Array(Math.ceil(first.sample.rows / 32))
  for (let row = 0; row < first.sample.rows; row++) if (truth(row) > 0) bits[row >> 5]! |= 1 << (row & 31)
  return bits
}

function truthOf(expression: TypedExpression, columns: readonly EstimatedColumn[]): Truth | undefined {
  switch (expression.kind) {
    case 'not': {
      const truth = truthOf(expression.args[0], columns)
      return truth && ((row) => -truth(row))
    }
    case 'and':
    case 'or': {
      const [left, right] = expression.args.map((argument) => truthOf(argument, columns))
      const choose = expression.kind === 'and' ? Math.min : Math.max
      return left && right && ((row) => choose(left(row), right(row)))
    }
    case 'comparison':
      return compared(expression, columns)
    default:
      return undefined
  }
}

function compared(
  { op, args }: Extract<TypedExpression, { kind: 'comparison' }>,
  columns: readonly EstimatedColumn[],
): Truth | undefined {
  const [left, right] = args.map((side) => (side.kind === 'column' ? columns[side.index] : undefined))
  if (left?.from === undefined || right?.from === undefined) return undefined
  // Strings are known by their numbers.
  if (left.type !== right.type || left.dictionary !== right.dictionary) return undefined
  const [ofLeft, ofRight] = [left.from.sample, right.from.sample]
  return (row) => {
    const [place, other] = [ofLeft.places[row]!, ofRight.places[row]!]
    if (place < 0 || other < 0) return 0
    return HOLDS[op](ofLeft.values[place]!, ofRight.values[other]!) ? 1 : -1
  }
}
