import type { Device } from '../../device/device.js'
import type { TreeShape } from '../layout.js'
import { CoalescedBuilder } from '../partitions/coalesced/build-coalesced.js'
import { ChainBuilder } from '../partitions/full/build-chains.js'
import { type Builder, EntryBuilder } from './build.js'
import { BranchBuilder } from './build-branches.js'

/** The builder for a tree's layout and keys. */
export function createBuilder(device: Device, shape: TreeShape): Builder {
  if (shape.form === undefined) return new EntryBuilder(device, shape)
  if (shape.conditions.coalesced) return new CoalescedBuilder(device, shape)
  return shape.full ? new ChainBuilder(device, shape) : new BranchBuilder(device, shape)
}
