import type { ComparisonOp } from '../../../protocol/query/tree.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import type { EstimatedColumn } from './column-sample.js'

const HOLDS: Readonly<Record<ComparisonOp, (left: bigint, right: bigint) => boolean>> = {
  '=': (left, right) => left === right,
  '<>': (left, right) => left !== right,
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
}

/** A bit for each row of a sample that satisfies a comparison of two of its columns, or the opposite of one; undefined of other expressions. */
export function comparedRows(
  expression: TypedExpression,
  columns: readonly EstimatedColumn[],
): Uint32Array | undefined {
  const wanted = expression.kind !== 'not'
  const comparison = expression.kind === 'not' ? expression.args[0] : expression
  if (comparison.kind !== 'comparison') return undefined
  const [left, right] = comparison.args.map((side) =>
    side.kind === 'column' ? columns[side.index] : undefined,
  )
  if (left?.sample === undefined || right?.sample === undefined || left.sampleOf !== right.sampleOf)
    return undefined
  // Strings are known by their numbers.
  if (left.type !== right.type || left.dictionary !== right.dictionary) return undefined
  const [ofLeft, ofRight] = [left.sample, right.sample]
  const holds = HOLDS[comparison.op]
  const bits = new Uint32Array(Math.ceil(ofLeft.rows / 32))
  ofLeft.places.forEach((place, row) => {
    const other = ofRight.places[row]!
    if (place < 0 || other < 0) return
    if (holds(ofLeft.values[place]!, ofRight.values[other]!) === wanted) bits[row >> 5]! |= 1 << (row & 31)
  })
  return bits
}
