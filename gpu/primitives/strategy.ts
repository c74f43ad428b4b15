import type { Device } from '../device/device.js'

/**
 * Who handles a tile, a number of neighbouring elements. Cooperative: a workgroup, through workgroup memory, so that
 * neighbouring invocations touch neighbouring words; for GPUs. Serial: one invocation, in a plain loop without barriers; for
 * CPUs, where caches make any order as good and a barrier costs as much as a third of a pass over the tile. On SwiftShader
 * scans and sorts of 2^20 elements take an eighth of the cooperative kernels' time.
 */
export type Strategy = 'cooperative' | 'serial'

/** Invocations of a workgroup in serial kernels: few, so that little work still reaches every core. */
const SERIAL_GROUP_SIZE = 16

export function strategyFor(device: Device): Strategy {
  return device.facts.software ? 'serial' : 'cooperative'
}

/** Workgroups that handle this many tiles. */
export function groupsFor(strategy: Strategy, tiles: number): number {
  return strategy === 'serial' ? Math.ceil(tiles / SERIAL_GROUP_SIZE) : tiles
}
