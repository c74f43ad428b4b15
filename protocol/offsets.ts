import { aligned } from './columns.js'
import { WarpdexError } from './errors.js'
import type { Section } from './frame.js'

/** What rows of any length must be like. */
export interface RowRules {
  /** Name of the section with the rows. */
  readonly section: string
  /** Name of the section with their offsets. */
  readonly offsets: string
  /** What one row is. */
  readonly row: string
  readonly least?: number
  readonly most: number
}

/**
 * The offsets that cut a section into rows: as many as there are rows and one, from 0 to the section's end.
 *
 * @throws WarpdexError `BAD_REQUEST`, or `TOO_LARGE` for a row that is too long
 */
export function requireOffsets(rows: Section, { bytes }: Section, rules: RowRules): Uint32Array {
  const name = rules.offsets
  if (bytes.byteLength < 4 || bytes.byteLength % 4 !== 0) {
    throw bad(
      `section "${name}" has ${bytes.byteLength} bytes; it needs u32 offsets, one more than there are rows`,
    )
  }
  const offsets = aligned(bytes, Uint32Array)
  const { row, least = 0, most } = rules
  if (offsets[0] !== 0) throw bad(`${name} must start with 0, not ${offsets[0]}`)
  for (let i = 1; i < offsets.length; i++) {
    const length = offsets[i] - offsets[i - 1]
    if (length < 0) throw bad(`${name} must not descend, as they do at ${i}`)
    if (length > most) {
      throw new WarpdexError('TOO_LARGE', `${row} ${i - 1} has ${length} bytes; ${most} are allowed`)
    }
    if (length < least) throw bad(`${row} ${i - 1} has ${length} bytes; it needs ${least}`)
  }
  const end = rows.bytes.byteLength
  const last = offsets[offsets.length - 1]
  if (last !== end) throw bad(`${name} end with ${last}; section "${rules.section}" has ${end} bytes`)
  return offsets
}

function bad(message: string): WarpdexError {
  return new WarpdexError('BAD_REQUEST', message)
}
