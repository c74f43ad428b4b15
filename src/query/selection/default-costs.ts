import type { SelectionCosts } from '../../../gpu/relational/selection/selection-types.js'
import type { ShareCurve } from '../../../protocol/query/selection-costs.js'

/** How many of so many neighbouring rows wait for one of them where a share of rows is wanted, from one in 1024 to all. */
function curveOf(neighbours: number): ShareCurve {
  return Array.from({ length: 11 }, (_, i) => {
    const share = 2 ** (i - 10)
    return { share, value: 1 - (1 - share) ** neighbours }
  })
}

/** Branches in front of matches that take nothing beyond. */
const FREE: ShareCurve = [{ share: 1, value: 0 }]

/**
 * What selections are thought to cost on a GPU that has not been measured: one with 4.8 TB/s of memory, of which scans reach 85 %, fetched in pieces of 64 bytes; and
 * 30 · 10¹² simple instructions a second. A column's scan is bound by memory by itself, so several together gain little.
 */
export const GPU_COSTS: SelectionCosts = {
  workgroup: 256,
  scan: { word: 0.00098, wide: 0.00196 },
  rates: { word: [1, 0.95, 0.93, 0.92], wide: [1, 0.97, 0.96, 0.95] },
  granule: 16,
  branch: curveOf(16),
  branching: 3000,
  gather: { word: 0.016, wide: 0.016 },
  gathering: 5000,
  mark: 0.0008,
  write: 0.0012,
  copy: 0.0019,
  predicate: { interval: 0.0001, search: 0.0003, table: 0.0008, expression: 0.0005 },
  match: {
    row: 0.0003,
    string: 0.003,
    byte: 0.0012,
    part: { string: curveOf(32), byte: curveOf(32) },
    branched: FREE,
    tile: 2 ** 13,
    tiles: 2 ** 9,
  },
  launch: 10_000,
  roundTrip: 150_000,
}

/**
 * The same where the CPU is the device. Four rows go through a kernel side by side, and the price is instructions rather than memory.
 */
export const SOFTWARE_COSTS: SelectionCosts = {
  workgroup: 64,
  scan: { word: 3, wide: 4.5 },
  rates: { word: [1, 0.75, 0.68, 0.65], wide: [1, 0.8, 0.75, 0.72] },
  granule: 4,
  branch: curveOf(4),
  branching: 0,
  gather: { word: 2.5, wide: 3 },
  gathering: 0,
  mark: 1,
  write: 3,
  copy: 2,
  predicate: { interval: 0.5, search: 1.5, table: 2, expression: 4 },
  match: {
    row: 20,
    string: 30,
    byte: 10,
    part: { string: curveOf(4), byte: curveOf(4) },
    branched: FREE,
    tile: 2 ** 10,
    tiles: 8,
  },
  launch: 40_000,
  roundTrip: 150_000,
}

/** What is reckoned with until an adapter was measured. */
export function defaultCosts(software: boolean): SelectionCosts {
  return software ? SOFTWARE_COSTS : GPU_COSTS
}
