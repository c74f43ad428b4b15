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

/** A bit for each row of a sample for which something is true, and one for each for which it is false; null is neither. */
interface Truth {
  readonly yes: Uint32Array
  readonly no: Uint32Array
}

/** A bit for each row of a sample that satisfies comparisons of two of its columns each; undefined of other expressions. */
export function comparedRows(
  expression: TypedExpression,
  columns: readonly EstimatedColumn[],
): Uint32Array | undefined {
  const sources = new Set(columnsRead(expression).map((column) => columns[column]!.from?.source))
  return sources.size === 1 ? truthOf(expression, columns)?.yes : undefined
}

function truthOf(expression: TypedExpression, columns: readonly EstimatedColumn[]): Truth | undefined {
  switch (expression.kind) {
    case 'not': {
      const truth = truthOf(expression.args[0], columns)
      return truth && { yes: truth.no, no: truth.yes }
    }
    case 'and':
    case 'or': {
      const [left, right] = expression.args.map((argument) => truthOf(argument, columns))
      if (left === undefined || right === undefined) return undefined
      const [both, some] = expression.kind === 'and' ? (['yes', 'no'] as const) : (['no', 'yes'] as const)
      const ofBoth = left[both].map((word, i) => word & right[both][i]!)
      const ofSome = left[some].map((word, i) => word | right[some][i]!)
      return expression.kind === 'and' ? { yes: ofBoth, no: ofSome } : { yes: ofSome, no: ofBoth }
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
  const holds = HOLDS[op]
  const words = Math.ceil(ofLeft.rows / 32)
  const truth = { yes: new Uint32Array(words), no: new Uint32Array(words) }
  ofLeft.places.forEach((place, row) => {
    const other = ofRight.places[row]!
    if (place < 0 || other < 0) return
    const bits = holds(ofLeft.values[place]!, ofRight.values[other]!) ? truth.yes : truth.no
    bits[row >> 5]! |= 1 << (row & 31)
  })
  return truth
}
