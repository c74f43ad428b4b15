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

/** A bit for each row of a sample for which a comparison of two of its columns is true; undefined of others. */
export function comparedRows(
  { op, args }: Extract<TypedExpression, { kind: 'comparison' }>,
  columns: readonly EstimatedColumn[],
): Uint32Array | undefined {
  const [left, right] = args.map((side) => (side.kind === 'column' ? columns[side.index] : undefined))
  if (left?.from === undefined || left.from.source !== right?.from?.source) return undefined
  // Strings are known by their numbers.
  if (left.type !== right.type || left.dictionary !== right.dictionary) return undefined
  const [ofLeft, ofRight] = [left.from.sample, right.from.sample]
  const bits = new Uint32Array(Math.ceil(ofLeft.rows / 32))
  for (let row = 0; row < ofLeft.rows; row++) {
    const [place, other] = [ofLeft.places[row]!, ofRight.places[row]!]
    if (place < 0 || other < 0) continue
    if (HOLDS[op](ofLeft.values[place]!, ofRight.values[other]!)) bits[row >> 5]! |= 1 << (row & 31)
  }
  return bits
}
