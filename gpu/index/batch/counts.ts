/** Where a write's totals lie in its `counts` buffer; `counts.wesl` says what each is. */
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
