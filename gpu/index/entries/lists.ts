/**
 * Whether a key is to be inserted with a further payload, which dies then: only an extent knows a next sequence number that is not the one after
 * that of the single payload.
 */
export function needsSpare(payloads: number, nextSequence: number, sequence: number): boolean {
  return payloads === 1 && nextSequence !== sequence + 1
}
