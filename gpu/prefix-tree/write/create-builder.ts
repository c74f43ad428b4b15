import type { Device } from '../../device/device.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { TreeShape } from '../layout.js'
import { type Builder, LevelBuilder } from './build.js'
import { BranchBuilder } from './build-branches.js'

/** The builder for a tree's keys. */
export function createBuilder(device: Device, primitives: Primitives, shape: TreeShape): Promise<Builder> {
  return shape.form === undefined
    ? LevelBuilder.create(device, primitives, shape)
    : BranchBuilder.create(device, primitives, shape)
}
