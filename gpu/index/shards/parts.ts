import type { Device } from '../../device/device.js'
import type { IndexShape, ReadOp, ReadRequest, ReadResults } from '../../index-structure.js'
import { OnDemand } from '../../primitives/on-demand.js'
import { Primitives } from '../../primitives/primitives.js'
import { ReadContext } from '../read/read-context.js'
import type { Asked } from '../read/read-operation.js'
import { Divider } from './divider.js'
import { ListReads } from './list-reads.js'
import { PointReads } from './point-reads.js'
import type { Shards } from './shards.js'
import { ShardWrites } from './writes.js'

/** A read of an index of several shards. */
export type ShardRead<Op extends ReadOp> = (
  shards: Shards,
  request: ReadRequest<Op>,
  asked: Asked<Op>,
) => Promise<ReadResults[Op]>

/** What works on the shards of indexes of one shape and holds nothing of any. */
export interface ShardParts {
  readonly divider: Divider
  readonly reads: Readonly<{ [Op in ReadOp]: ShardRead<Op> }>
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
  const context = new ReadContext(device, await Primitives.create(device), shape)
  const divider = new Divider(context)
  const points = new PointReads(context, divider)
  const writes = new ShardWrites(device, shape, divider)
  const lists = new ListReads(shape, divider)
  const reads: ShardParts['reads'] = {
    get: (shards, request, { keys }) => points.get(shards, request, keys),
    count: (shards, _request, { keys }) => points.count(shards, keys),
    getAll: (shards, { limit }, { keys }) => lists.getAll(shards, keys, limit),
    getNext: (shards, request, asked) => lists.getNext(shards, request, asked),
    scan: (shards, request, columns) => lists.scan(shards, request, columns),
    countRanges: (shards, request, columns) => lists.countRanges(shards, request, columns),
    due: (shards, request) => lists.due(shards, request),
    // As it would be done in the shard of the first key.
    explain: async ({ boundaries, trees }, request, asked) => {
      const [shard] = await divider.route(boundaries, asked.keys)
      return trees[shard].read(request, asked)
    },
  }
  await device.compiled()
  return { divider, reads, writes }
}
