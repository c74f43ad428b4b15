import type { Device } from '../../device/device.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { TreeShape } from '../layout.js'
import { CoalescedBuilder } from '../partitions/coalesced/build-coalesced.js'
import { ChainBuilder } from '../partitions/full/build-chains.js'
import { type Builder, EntryBuilder } from './build.js'
import { BranchBuilder } from './build-branches.js'

/** The builder for a tree's layout and keys. */
export function createBuilder(device: Device, primitives: Primitives, shape: TreeShape): Builder {
  if (shape.form === undefined) return new EntryBuilder(device, primitives, shape)
  if (shape.conditions.coalesced) return new CoalescedBuilder(device, shape)
  return shape.full
    ? new ChainBuilder(device, primitives, shape)
    : new BranchBuilder(device, primitives, shape)
}
