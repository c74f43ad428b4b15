import type { Device, Kernels } from '../device/device.js'
import type { Conditions } from '../device/shaders.js'

/**
 * Who handles a tile, a number of neighbouring elements.
 *
 * * `subgroups`: a workgroup, in registers and by operations over its subgroups; for GPUs whose subgroups have one size.
 * * `cooperative`: a workgroup, through workgroup memory; for other GPUs. The primitives' kernels are the same, and emulate subgroups.
 * * `serial`: one invocation, in a plain loop without barriers; for CPUs, where caches make any order as good and a barrier
 *   costs as much as a third of a pass over the tile. On SwiftShader scans and sorts of 2^20 elements take an eighth of the
 *   cooperative kernels' time.
 */
export type Strategy = 'subgroups' | 'cooperative' | 'serial'

/** Invocations of a workgroup in serial kernels: few, so that little work still reaches every core. */
export const SERIAL_GROUP_SIZE = 16

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

/** A workgroup of the kernels for subgroups. */
export interface SubgroupTile {
  readonly invocations: number
  /** What the kernels are made with. */
  readonly conditions: Readonly<Record<string, boolean>>
}

/** Invocations by kind of kernels, in subgroups of 32 lanes, and where those are emulated; `subgroup-tile.wesl` has the same numbers. */
const INVOCATIONS = { scan: 512, passes: 384, runs: 256 }
const EMULATED_INVOCATIONS = 256
/** The number of invocations where subgroups are smaller, or workgroups must be. */
const FEW_INVOCATIONS = 64

/**
 * The workgroup that suits a device.
 * @param kind `scan` for scans and compactions, `passes` and `runs` for a sort's
 */
export function subgroupTile(
  device: Device,
  kind: 'scan' | 'passes' | 'runs',
  strategy: Strategy = 'subgroups',
): SubgroupTile {
  if (strategy !== 'subgroups') {
    return { invocations: EMULATED_INVOCATIONS, conditions: { emulated: true, [kind]: true } }
  }
  const { limits, adapterInfo } = device.gpu
  const small =
    adapterInfo.subgroupMinSize !== 32 || limits.maxComputeInvocationsPerWorkgroup < INVOCATIONS.scan
  return {
    invocations: small ? FEW_INVOCATIONS : INVOCATIONS[kind],
    conditions: { small_groups: small, [kind]: true },
  }
}

/** The kernels of a module that suit a strategy: those for CPUs have `_serial` behind their entry points. */
export function kernelsFor<Name extends string>(
  device: Device,
  strategy: Strategy,
  module: string,
  entryPoints: readonly Name[],
  conditions?: Conditions,
): Kernels<Name> {
  if (strategy !== 'serial') return device.kernels(module, entryPoints, conditions)
  const serial = entryPoints.map((name) => `${name}_serial` as const)
  const made = device.kernels(module, serial, conditions)
  return Object.fromEntries(entryPoints.map((name, i) => [name, made[serial[i]!]])) as Kernels<Name>
}

/** Workgroups that handle this many tiles. */
export function groupsFor(strategy: Strategy, tiles: number): number {
  return strategy === 'serial' ? Math.ceil(tiles / SERIAL_GROUP_SIZE) : tiles
}
