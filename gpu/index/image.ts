import { WarpdexError } from '../../protocol/errors.js'
import type { Device } from '../device/device.js'
import type { StructureImage } from '../index-structure.js'
import { copiedParts, fillRegion, partsInPlace, type ReadPart } from '../memory/image-parts.js'
import { Arena } from './arena.js'
import type { TreeShape } from './layout.js'
import type { TreeTotals } from './totals.js'

/** An image of an arena as it is now: its content is copied on the device at once and read back as it is asked for. */
export async function imageOf(device: Device, arena: Arena, totals: TreeTotals): Promise<StructureImage> {
  const { parts, release } = await copiedParts(device, arena.regions)
  return { meta: metaOf(arena, totals), parts, release }
}

/** An image that is read from the arena itself, which must not change meanwhile. */
export async function imageInPlace(
  device: Device,
  arena: Arena,
  totals: TreeTotals,
): Promise<StructureImage> {
  const parts = partsInPlace(device, arena.regions)
  return { meta: metaOf(arena, totals), parts, release: () => {} }
}

function metaOf(arena: Arena, totals: TreeTotals): StructureImage['meta'] {
  const records = Object.fromEntries([...arena.regions].map(([name, region]) => [name, region.records]))
  const { sorted } = arena
  const part = sorted && { sorted: sorted.tuples, hasRemoved: sorted.hasRemoved }
  return { ...totals, ...records, ...part }
}

/**
 * Brings an arena back.
 * @throws WarpdexError `DAMAGED_FILE` when the image is shorter than it says
 */
export async function arenaFromImage(
  device: Device,
  shape: TreeShape,
  meta: StructureImage['meta'],
  readPart: ReadPart,
  mostBytes?: number,
): Promise<{ arena: Arena; totals: TreeTotals }> {
  if (shape.conditions.css && numberOf(meta, 'sorted') > numberOf(meta, 'tuples')) {
    throw new WarpdexError('DAMAGED_FILE', 'the image has more sorted tuples than tuples')
  }
  const need = {
    nodes: numberOf(meta, 'nodes'),
    tuples: numberOf(meta, 'tuples'),
    extentWords: numberOf(meta, 'extents'),
    ...(shape.form === undefined ? {} : { keyWords: numberOf(meta, 'heap') }),
    ...(shape.conditions.css ? { sorted: numberOf(meta, 'sorted') } : {}),
  }
  const arena = await Arena.create(device, shape, need, mostBytes)
  try {
    for (const [name, region] of arena.regions) {
      await fillRegion(device, region, numberOf(meta, name), readPart(name))
    }
    if (arena.sorted !== undefined) arena.sorted.hasRemoved = meta.hasRemoved === true
  } catch (error) {
    arena.destroy()
    throw error
  }
  const totals = {
    keys: numberOf(meta, 'keys'),
    payloads: numberOf(meta, 'payloads'),
    tuplesRemoved: numberOf(meta, 'tuplesRemoved'),
    garbageBytes: numberOf(meta, 'garbageBytes'),
  }
  return { arena, totals }
}

function numberOf(meta: StructureImage['meta'], name: string): number {
  const value = meta[name]
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new WarpdexError('DAMAGED_FILE', `the image's ${name} is ${JSON.stringify(value)}, not a number`)
}
