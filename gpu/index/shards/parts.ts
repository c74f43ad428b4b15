import type { Device } from '../../device/device.js'
import type { IndexShape } from '../../index-structure.js'
import { OnDemand } from '../../primitives/on-demand.js'
import { Primitives } from '../../primitives/primitives.js'
import { Divider } from './divider.js'
import { ListReads } from './list-reads.js'
import { PointReads } from './point-reads.js'
import { ShardWrites } from './writes.js'

/** What works on the shards of indexes of one shape and holds nothing of any. */
export interface ShardParts {
  readonly divider: Divider
  readonly points: PointReads
  readonly lists: ListReads
  readonly writes: ShardWrites
}

const partsByDevice = new WeakMap<Device, OnDemand<IndexShape, ShardParts>>()

/** The parts for indexes of a shape, made once, when the first of them is cut. */
export function shardPartsFor(device: Device, shape: IndexShape): Promise<ShardParts> {
  const parts = partsByDevice.get(device) ?? new OnDemand((shape) => makeParts(device, shape))
  partsByDevice.set(device, parts)
  return parts.get(shape)
}

async function makeParts(device: Device, shape: IndexShape): Promise<ShardParts> {
  const primitives = await Primitives.create(device)
  const divider = await Divider.create(device, primitives, shape)
  const [points, writes] = await Promise.all([
    PointReads.create(device, primitives, shape, divider),
    ShardWrites.create(device, shape, divider),
  ])
  return { divider, points, lists: new ListReads(shape, divider), writes }
}
