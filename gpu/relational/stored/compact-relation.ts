import type { ColumnDefinition } from '../../../protocol/relation.js'
import type { Device } from '../../device/device.js'
import { DeviceWork } from '../query/device-work.js'
import { queryKernelsOf } from '../query/query-kernels.js'
import { Table } from '../query/table.js'
import { StoredRelation } from './stored-relation.js'

/** Rows that are moved at a time: what they take beside the columns is bounded, and other work gets its turns. */
const MOVED_ROWS = 2 ** 22

/**
 * A relation of the live rows of another one, in their order, which have other numbers in it. The other one stays as it is, and must meanwhile.
 * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `DEVICE_LOST`
 */
export async function compactedRelation(
  device: Device,
  columns: readonly ColumnDefinition[],
  stored: StoredRelation,
): Promise<StoredRelation> {
  const kernels = await queryKernelsOf(device)
  const lane = device.turns.lane({ refuse: () => {} })
  const scratch = device.scratch(undefined, lane)
  const fresh = await StoredRelation.create(device, columns)
  try {
    const work = new DeviceWork(device, kernels, scratch)
    const live = Table.ofLiveRows(work, stored.relation)
    for (let first = 0; first < live.rows; first += MOVED_ROWS) {
      await fresh.take(work, live.slice(work, first, Math.min(MOVED_ROWS, live.rows - first)))
      work.keepOnly(live.buffers())
    }
    await fresh.settle()
    await work.done()
    device.check()
    fresh.numbering = stored.numbering + 1
    return fresh
  } catch (error) {
    fresh.destroy()
    throw error
  } finally {
    lane.stop()
    scratch.end()
  }
}
