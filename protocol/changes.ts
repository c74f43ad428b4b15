/** What stands in the place of an op, of a batch of changes that deletes a range, with a bit for each end that does not belong to it. */
const RANGE = 8
const FROM_EXCLUSIVE = 1
const TO_EXCLUSIVE = 2

/** Which ends of a range do not belong to it. */
export interface RangeExclusions {
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
}

export function rangeOp({ fromExclusive, toExclusive }: RangeExclusions): number {
  return RANGE | (fromExclusive ? FROM_EXCLUSIVE : 0) | (toExclusive ? TO_EXCLUSIVE : 0)
}

/** What a byte says of a deleted range; undefined where it stands for other changes. */
export function exclusionsIn(op: number | undefined): RangeExclusions | undefined {
  if (op === undefined || (op & RANGE) === 0) return undefined
  return { fromExclusive: (op & FROM_EXCLUSIVE) !== 0, toExclusive: (op & TO_EXCLUSIVE) !== 0 }
}
