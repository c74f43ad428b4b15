import type { Device } from '../../device/device.js'
import { groupsFor, SERIAL_GROUP_SIZE, type Strategy, subgroupTile } from '../../primitives/strategy.js'

/** Entries of a word of bits. */
const WORD_ENTRIES = 32

/** How entries are cut into tiles (`selection-tile.wesl`). */
export interface SelectionTile {
  /** Invocations of a workgroup. */
  readonly invocations: number
  /** Words of bits of a tile. */
  readonly words: number
  /** What the kernels are made with. */
  readonly conditions: Readonly<Record<string, boolean>>
  /** Tiles of so many entries. */
  tiles(entries: number): number
  /** Workgroups that handle this many tiles. */
  groups(tiles: number): number
}

export function selectionTile(device: Device, strategy: Strategy): SelectionTile {
  const groups = (tiles: number) => groupsFor(strategy, tiles)
  const cut = (words: number) => (entries: number) => Math.ceil(entries / (words * WORD_ENTRIES))
  if (strategy !== 'subgroups') {
    const serial = strategy === 'serial'
    const words = serial ? 32 : 256
    const invocations = serial ? SERIAL_GROUP_SIZE : words
    return { invocations, words, conditions: { serial, subgroups: false }, tiles: cut(words), groups }
  }
  const { invocations, conditions } = subgroupTile(device, 'runs')
  return {
    invocations,
    words: invocations,
    conditions: { ...conditions, subgroups: true },
    tiles: cut(invocations),
    groups,
  }
}
