import type { Device } from '../device/device.js'
import { Arena, type ArenaNeed } from './arena.js'
import type { TreeShape } from './layout.js'

/** What an arena takes that is to hold so much: records of each region by its name, and tuples of a CSS-tree's sorted part. */
export function needOf(shape: TreeShape, records: (name: string) => number): ArenaNeed {
  return {
    nodes: records('nodes'),
    tuples: records('tuples'),
    extentWords: records('extents'),
    ...(shape.form === undefined ? {} : { keyWords: records('heap') }),
    ...(shape.conditions.css ? { sorted: records('sorted') } : {}),
  }
}

/**
 * A copy of an arena on its device, which must not change before this resolves. What can be made again from the regions is not copied.
 * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
 */
export async function copyArena(device: Device, shape: TreeShape, arena: Arena): Promise<Arena> {
  const { regions, sorted } = arena
  const records = (name: string) => regions.get(name)?.records ?? sorted?.tuples ?? 0
  const copy = await Arena.create(device, shape, needOf(shape, records), arena.allowance.bytes())
  const recorder = device.record()
  for (const [name, { buffer, records, usedBytes }] of regions) {
    const region = copy.regions.get(name)
    if (region === undefined) continue
    region.take(records - region.records)
    recorder.copy(buffer, 0, region.buffer, 0, usedBytes)
  }
  recorder.submit()
  if (copy.sorted !== undefined) copy.sorted.hasRemoved = sorted?.hasRemoved === true
  return copy
}
