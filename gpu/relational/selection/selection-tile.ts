import type { Device } from '../../device/device.js'
import { groupsFor, SERIAL_GROUP_SIZE, type Strategy, subgroupTile } from '../../primitives/strategy.js'

/** Entries of a word of bits. */
const WORD_ENTRIES = 32

/** Words of a tile of the kernels for CPUs. */
const SERIAL_TILE_WORDS = 32

/** Quads of an invocation that a GPU loads side by side, enough to keep its memory busy; each takes four registers. A CPU gains nothing by it. */
const LOADS = 8

/** Code that is written out for each row of a quad, as `RowText.weight` has it, for GPUs and for CPUs: these take long to compile it. */
const WRITTEN_OUT = { parallel: 64, serial: 16 }

/** How entries are cut into tiles (`selection-tile.wesl`). */
export interface SelectionTile {
  /** Invocations of a workgroup. */
  readonly invocations: number
  /** Words of bits of a tile. */
  readonly words: number
  /** Entries of a tile. */
  readonly entries: number
  /** Loads of an invocation that are under way at a time. */
  readonly loads: number
  /** Weight of code that is written out for each row; other code is gone through by rows. */
  readonly writtenOut: number
  /** What the kernels are made with. */
  readonly conditions: Readonly<Record<string, boolean>>
  /** The entry point for the device's kind. */
  entryPoint(name: string): string
  /** Tiles of so many entries. */
  tiles(entries: number): number
  /** Workgroups that handle this many tiles. */
  groups(tiles: number): number
}

export function selectionTile(device: Device, strategy: Strategy): SelectionTile {
  const isSerial = strategy === 'serial'
  const { invocations, conditions } = subgroupTile(device, 'runs', strategy)
  const words = isSerial ? SERIAL_TILE_WORDS : invocations
  const entries = words * WORD_ENTRIES
  return {
    invocations: isSerial ? SERIAL_GROUP_SIZE : invocations,
    words,
    entries,
    loads: isSerial ? 1 : LOADS,
    writtenOut: isSerial ? WRITTEN_OUT.serial : WRITTEN_OUT.parallel,
    conditions,
    entryPoint: (name) => (isSerial ? `${name}_serial` : name),
    tiles: (count) => Math.ceil(count / entries),
    groups: (tiles) => groupsFor(strategy, tiles),
  }
}
