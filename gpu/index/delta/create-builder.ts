import type { Device } from '../../device/device.js'
import type { TreeShape } from '../layout.js'
import { CoalescedBuilder } from '../partitions/coalesced/build-coalesced.js'
import { type Builder, EntryBuilder } from './build.js'

/** The builder for a tree's layout and keys. */
export function createBuilder(device: Device, shape: TreeShape): Builder {
  return shape.conditions.coalesced ? new CoalescedBuilder(device, shape) : new EntryBuilder(device, shape)
}
