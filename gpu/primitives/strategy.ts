import type { Device } from '../device/device.js'

/**
 * Who handles a tile, a number of neighbouring elements.
 *
 * * `subgroups`: a workgroup, in registers and by operations over its subgroups; for GPUs whose subgroups have one size.
 * * `cooperative`: a workgroup, through workgroup memory, so that neighbouring invocations touch neighbouring words; for other
 *   GPUs.
 * * `serial`: one invocation, in a plain loop without barriers; for CPUs, where caches make any order as good and a barrier
 *   costs as much as a third of a pass over the tile. On SwiftShader scans and sorts of 2^20 elements take an eighth of the
 *   cooperative kernels' time.
 */
export type Strategy = 'subgroups' | 'cooperative' | 'serial'

/** Invocations of a workgroup in serial kernels: few, so that little work still reaches every core. */
const SERIAL_GROUP_SIZE = 16

export function strategyFor(device: Device): Strategy {
  if (device.facts.software) return 'serial'
  return suitsSubgroups(device) ? 'subgroups' : 'cooperative'
}

/** Whether the kernels for subgroups run on this device. */
export function suitsSubgroups(device: Device): boolean {
  const { features, adapterInfo } = device.gpu
  const { subgroupMinSize: least = 0, subgroupMaxSize: most = 0 } = adapterInfo
  return features.has('subgroups') && device.wgslFeatures.has('subgroup_id') && least === most && most <= 32
}

/** A workgroup of the kernels for subgroups; `subgroup-tile.wesl` has the same numbers. */
export interface SubgroupTile {
  readonly invocations: number
  /** Words of its tile in a scan. */
  readonly scanTile: number
  /** What the kernels are made with. */
  readonly conditions: Readonly<Record<string, boolean>>
}

const LARGE_GROUP = { invocations: 512, workgroupBytes: 48 * 2 ** 10 }
const SMALL_GROUP = { invocations: 64 }
const SCAN_ROUNDS = 16

/** The largest workgroup that the device has room for and that is at most 16 subgroups. */
export function subgroupTile(device: Device): SubgroupTile {
  const { limits, adapterInfo } = device.gpu
  const large =
    adapterInfo.subgroupMinSize === 32 &&
    limits.maxComputeInvocationsPerWorkgroup >= LARGE_GROUP.invocations &&
    limits.maxComputeWorkgroupStorageSize >= LARGE_GROUP.workgroupBytes
  const { invocations } = large ? LARGE_GROUP : SMALL_GROUP
  return { invocations, scanTile: invocations * SCAN_ROUNDS, conditions: { small_groups: !large } }
}

/** Workgroups that handle this many tiles. */
export function groupsFor(strategy: Strategy, tiles: number): number {
  return strategy === 'serial' ? Math.ceil(tiles / SERIAL_GROUP_SIZE) : tiles
}
