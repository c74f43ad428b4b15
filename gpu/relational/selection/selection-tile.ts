import type { Device } from '../../device/device.js'
import { groupsFor, SERIAL_GROUP_SIZE, type Strategy, subgroupTile } from '../../primitives/strategy.js'

/** Entries of a word of bits. */
export const WORD_ENTRIES = 32

/** Quads of an invocation that a GPU loads side by side, enough to keep its memory busy; each takes four registers. */
const LOADS = 8

/** How entries are cut into tiles (`selection-tile.wesl`). */
export interface SelectionTile {
  /** Invocations of a workgroup. */
  readonly invocations: number
  /** Words of bits of a tile. */
  readonly words: number
  /** Loads of an invocation that are under way at a time. */
  readonly loads: number
  /** What the kernels are made with. */
  readonly conditions: Readonly<Record<string, boolean>>
  /** Tiles of so many entries. */
  tiles(entries: number): number
  /** Workgroups that handle this many tiles. */
  groups(tiles: number): number
}

/** Invocations of a workgroup that kernels for subgroups can have. */
export type SelectionWorkgroup = 256 | 512

/** Bytes of workgroup memory that kernels of 512 invocations take, with what they share with others. */
const LARGE_WORKGROUP_BYTES = 2 ** 15

/** The workgroups that a device can run with a strategy, the usual one first. */
export function selectionWorkgroups(device: Device, strategy: Strategy): SelectionWorkgroup[] {
  const { maxComputeWorkgroupStorageSize } = device.gpu.limits
  const isLarge =
    strategy === 'subgroups' &&
    selectionTile(device, strategy, 512).invocations === 512 &&
    maxComputeWorkgroupStorageSize >= LARGE_WORKGROUP_BYTES
  return isLarge ? [256, 512] : [256]
}

/** @param workgroup invocations of a workgroup where subgroups of 32 lanes are used; others have their own */
export function selectionTile(
  device: Device,
  strategy: Strategy,
  workgroup: SelectionWorkgroup,
): SelectionTile {
  const groups = (tiles: number) => groupsFor(strategy, tiles)
  const cut = (words: number) => (entries: number) => Math.ceil(entries / (words * WORD_ENTRIES))
  if (strategy !== 'subgroups') {
    const serial = strategy === 'serial'
    const words = serial ? 32 : 256
    const invocations = serial ? SERIAL_GROUP_SIZE : words
    const conditions = { serial, subgroups: false }
    return { invocations, words, loads: serial ? 1 : LOADS, conditions, tiles: cut(words), groups }
  }
  const tile = subgroupTile(device, workgroup === 512 ? 'scan' : 'runs')
  const { invocations } = tile
  const conditions = { ...tile.conditions, subgroups: true }
  return { invocations, words: invocations, loads: LOADS, conditions, tiles: cut(invocations), groups }
}
