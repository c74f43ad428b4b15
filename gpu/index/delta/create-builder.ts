import type { Device } from '../../device/device.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { TreeShape } from '../layout.js'
import { CoalescedBuilder } from '../partitions/coalesced/build-coalesced.js'
import { ChainBuilder } from '../partitions/full/build-chains.js'
import { type Builder, EntryBuilder } from './build.js'
import { BranchBuilder } from './build-branches.js'

/** The builder for a tree's layout and keys. */
export function createBuilder(device: Device, primitives: Primitives, shape: TreeShape): Promise<Builder> {
  if (shape.form === undefined) return EntryBuilder.create(device, primitives, shape)
  if (shape.conditions.coalesced) return CoalescedBuilder.create(device, shape)
  return shape.full
    ? ChainBuilder.create(device, primitives, shape)
    : BranchBuilder.create(device, primitives, shape)
}
