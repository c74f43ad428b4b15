import type { Device } from '../device/device.js'
import type { DeviceMemory, PageRun } from '../memory/page-run.js'
import type { Region } from '../memory/region.js'
import type { Arena, ArenaContent } from './arena.js'
import type { TreeShape } from './layout.js'

/**
 * A copy of an arena's content as it was at one moment, for a compaction beside which the arena is written to. It has what a
 * compaction reads, and no room to grow.
 */
export interface FrozenArena extends ArenaContent {
  readonly bytes: number
  destroy(): void
}

/**
 * Copies an arena as it is.
 * @param outlives whether the copy may be read once the arena is destroyed, or its sorted part another one. Else it has the arena's own
 *   separators, which never change
 * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
 */
export function freeze(device: Device, shape: TreeShape, arena: Arena, outlives = false): FrozenArena {
  const copies = new Map<DeviceMemory, PageRun>()
  const destroy = () => {
    for (const copy of copies.values()) copy.destroy()
  }
  const { allowance, tuples, heap, sorted } = arena
  const recorder = device.record()
  try {
    for (const region of regionsRead(shape, arena)) copies.set(region.buffer, region.copied(recorder))
    if (outlives && sorted !== undefined) {
      const { directory } = sorted
      const copy = device.allocatePages('copies', directory.size, 'copy of separators')
      copies.set(directory, copy)
      recorder.copy(directory, 0, copy, 0, directory.size)
    }
    recorder.submit()
  } catch (error) {
    destroy()
    throw error
  }
  const bindings = Object.entries(arena.bindings).map(([name, buffer]) => [
    name,
    buffer && copies.get(buffer),
  ])
  const directory = sorted && (copies.get(sorted.directory) ?? sorted.directory)
  return {
    allowance,
    bindings: { ...Object.fromEntries(bindings), directory },
    tuples: { buffer: copies.get(tuples.buffer)!, records: tuples.records },
    heap: heap && { buffer: copies.get(heap.buffer)! },
    sorted: sorted && { tuples: sorted.tuples, hasRemoved: sorted.hasRemoved },
    bytes: [...copies.values()].reduce((bytes, { size }) => bytes + size, 0),
    destroy,
  }
}

/** Bytes of device memory that a copy of an arena takes. */
export function frozenBytes(shape: TreeShape, arena: Arena): number {
  return regionsRead(shape, arena).reduce((bytes, { usedBytes }) => bytes + usedBytes, 0)
}

/** The regions that a compaction reads. Nodes only give the order of keys of fixed width; others are sorted. */
function regionsRead({ form }: TreeShape, { nodes, tuples, extents, heap, sorted }: Arena): Region[] {
  const regions = [form === undefined ? nodes : undefined, tuples, extents, heap, sorted?.removed]
  return regions.filter((region) => region !== undefined)
}
