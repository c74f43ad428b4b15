import type { Device } from '../device/device.js'
import type { StructureImage } from '../index-structure.js'
import { fillRegion, partsOf } from '../memory/image-parts.js'
import { hostParts } from '../memory/page-out.js'
import { Arena } from './arena.js'
import { needOf } from './arena-copy.js'
import type { TreeShape } from './layout.js'
import type { TreeTotals } from './totals.js'

/** An image of an arena, which must not change meanwhile. */
export async function imageOf(device: Device, arena: Arena, totals: TreeTotals): Promise<StructureImage> {
  const records = Object.fromEntries([...arena.regions].map(([name, region]) => [name, region.records]))
  const { sorted } = arena
  const part = sorted && { sorted: sorted.tuples, hasRemoved: sorted.hasRemoved }
  const meta = { ...totals, ...records, ...part }
  return { meta, parts: await hostParts(device, arena.regions) }
}

/**
 * Brings an arena back.
 * @param mostBytes bytes of device memory that it may take
 * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
 */
export async function arenaFromImage(
  device: Device,
  shape: TreeShape,
  image: StructureImage,
  mostBytes?: number,
): Promise<{ arena: Arena; totals: TreeTotals }> {
  const number = (name: string) => Number(image.meta[name])
  const arena = await Arena.create(device, shape, needOf(shape, number), mostBytes)
  try {
    const readPart = partsOf(image)
    for (const [name, region] of arena.regions) {
      await fillRegion(device, region, number(name), readPart(name))
    }
    if (arena.sorted !== undefined) arena.sorted.hasRemoved = image.meta.hasRemoved === true
  } catch (error) {
    arena.destroy()
    throw error
  }
  const totals = {
    keys: number('keys'),
    payloads: number('payloads'),
    tuplesRemoved: number('tuplesRemoved'),
    garbageBytes: number('garbageBytes'),
  }
  return { arena, totals }
}
