/** Where a write's totals lie in its `counts` buffer; `columns.wesl` says what each is. */
export const Count = {
  runs: 0,
  creates: 1,
  entries: 2,
  nodes: 3,
  extentWords: 4,
  removes: 5,
  payloadsAdded: 6,
  payloadsRemoved: 7,
  garbageWords: 8,
  longMatches: 9,
  longMoves: 10,
  exhausted: 11,
  keyWords: 12,
  unsettled: 13,
} as const

/** Words of a `counts` buffer. */
export const COUNTS = 16

/** What the regions of an arena must have room for, by a write's totals. */
export function needOf(totals: Uint32Array) {
  return {
    nodes: totals[Count.nodes]!,
    tuples: totals[Count.creates]!,
    extentWords: totals[Count.extentWords]!,
    keyWords: totals[Count.keyWords]!,
  }
}
