import type { RegionStats } from '../index-structure.js'
import type { Arena } from './arena.js'
import type { TreeShape } from './layout.js'
import type { SortedPart } from './main/sorted-part.js'
import type { TreeTotals } from './totals.js'

/** What each region of an arena has, and what belongs to it beside them. Their bytes are the arena's, together. */
export function regionStats(arena: Arena, shape: TreeShape, totals: TreeTotals): readonly RegionStats[] {
  const { nodes, tuples, extents, heap, heads, links, sorted } = arena
  const removedBytes = Math.min(4 * totals.tuplesRemoved * shape.tupleStride, tuples.usedBytes)
  const garbage = new Map([['tuples', removedBytes]])
  // What else is garbage was counted together: lists that have moved, and keys of removed tuples.
  const rest = Math.max(0, totals.garbageBytes - removedBytes)
  const holders = { extents: extents.usedBytes, heap: heap?.usedBytes ?? 0 }
  const held = holders.extents + holders.heap
  for (const [role, usedBytes] of Object.entries(holders)) {
    if (held > 0) garbage.set(role, Math.min(usedBytes, Math.round((rest * usedBytes) / held)))
  }
  const regions = { nodes, heads, tuples, links, extents, heap, removed: sorted?.removed }
  const stats = Object.entries(regions).flatMap(([role, region]) => {
    if (region === undefined) return []
    const { bytes, usedBytes } = region
    return [{ role, bytes, usedBytes, garbageBytes: garbage.get(role) ?? 0 }]
  })
  const derived = {
    directory: arena.top?.buffer.size ?? 0,
    partitions: arena.partitions?.bytes ?? 0,
    coming: arena.comingBytes,
  }
  const separators = sorted === undefined ? [] : [separatorStats(sorted)]
  return [...stats, ...separators, ...Object.entries(derived).flatMap(([role, bytes]) => wholly(role, bytes))]
}

function separatorStats({ derivedBytes, usedDerivedBytes }: SortedPart): RegionStats {
  return { role: 'separators', bytes: derivedBytes, usedBytes: usedDerivedBytes, garbageBytes: 0 }
}

/** What is used as a whole; nothing where it has no bytes. */
export function wholly(role: string, bytes: number): readonly RegionStats[] {
  return bytes === 0 ? [] : [{ role, bytes, usedBytes: bytes, garbageBytes: 0 }]
}

/** The regions of several structures, together by their roles. */
export function joinRegions(lists: readonly (readonly RegionStats[])[]): readonly RegionStats[] {
  if (lists.length === 1) return lists[0]
  const joined = new Map<string, RegionStats>()
  for (const { role, bytes, usedBytes, garbageBytes } of lists.flat()) {
    const before = joined.get(role) ?? { role, bytes: 0, usedBytes: 0, garbageBytes: 0 }
    joined.set(role, {
      role,
      bytes: before.bytes + bytes,
      usedBytes: before.usedBytes + usedBytes,
      garbageBytes: before.garbageBytes + garbageBytes,
    })
  }
  return [...joined.values()]
}
