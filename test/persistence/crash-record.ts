import type { LogRecord, PayloadSegment } from '../../persistence/log/log-records.js'
import type { WriteOutcome } from '../../persistence/log/write-outcomes.js'

/** The record that the crash test writes at a position: all of it follows from the position and its first row. */
export function crashRecord(
  position: number,
  firstRow: number,
): LogRecord & { readonly segment: PayloadSegment; readonly outcomes: readonly WriteOutcome[] } {
  const count = 1 + (position % 40)
  const offsets = new Uint32Array(count + 1)
  for (let i = 0; i < count; i++) offsets[i + 1] = offsets[i] + ((position * 31 + i) % 120)
  return {
    ops: new Uint8Array(count).fill(position % 5),
    keys: { bytes: new Uint8Array(count * 8).fill(position), width: 8 },
    segment: { firstRow, offsets, bytes: new Uint8Array(offsets[count]).fill(position) },
    outcomes: [{ client: 'crash', write: position, codes: new Uint8Array(count).fill(position % 3) }],
  }
}
