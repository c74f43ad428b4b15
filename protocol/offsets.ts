import { aligned } from './columns.js'
import { badRequest, WarpdexError } from './errors.js'

/** What rows of any length must be like. */
export interface RowRules {
  /** Name of the column. */
  readonly column: string
  /** What one row is. */
  readonly row: string
  readonly least?: number
  readonly most: number
}

/**
 * The offsets that cut a column into rows: as many as there are rows and one, from 0 to the column's end.
 *
 * @throws WarpdexError `BAD_REQUEST`, or `TOO_LARGE` for a row that is too long
 */
export function requireOffsets(rows: Uint8Array, cuts: Uint8Array, rules: RowRules): Uint32Array {
  const name = `the offsets of column "${rules.column}"`
  if (cuts.byteLength < 4 || cuts.byteLength % 4 !== 0) {
    throw badRequest(`${name} have ${cuts.byteLength} bytes; they are u32, one more than there are rows`)
  }
  const offsets = aligned(cuts, Uint32Array)
  const { row, least = 0, most } = rules
  if (offsets[0] !== 0) throw badRequest(`${name} must start with 0, not ${offsets[0]}`)
  for (let i = 1; i < offsets.length; i++) {
    const length = offsets[i] - offsets[i - 1]
    if (length < 0) throw badRequest(`${name} must not descend, as they do at ${i}`)
    if (length > most) {
      throw new WarpdexError('TOO_LARGE', `${row} ${i - 1} has ${length} bytes; ${most} are allowed`)
    }
    if (length < least) throw badRequest(`${row} ${i - 1} has ${length} bytes; it needs ${least}`)
  }
  const end = rows.byteLength
  const last = offsets[offsets.length - 1]
  if (last !== end) throw badRequest(`${name} end with ${last}; its values have ${end} bytes`)
  return offsets
}
