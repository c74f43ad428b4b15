import type { Access, NumberedBinding } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord } from '../../primitives/device-count.js'
import type { Primitives, Strategy } from '../../primitives/primitives.js'

/** Tiles of a group; as in `tile-sums.wesl`. */
const GROUP = 256

/** Numbers that a dispatch counts tile by tile, and of which the next one asks what comes before a tile. */
export interface TileSums {
  readonly buffer: GPUBuffer
  /** The sum of all tiles. */
  readonly total: DeviceWord
  /** Call it between the two dispatches. */
  readonly recordSums: () => void
}

/** Where kernels bind the buffer: to count tiles, or to ask for what comes before. */
export function tileSumsBinding(access: Access): NumberedBinding {
  return [12, access]
}

/**
 * Room for the numbers of tiles. Kernels of workgroups keep them by `tile-sums.wesl`; those with `serial` store a word a tile, and find
 * in its place what comes before it.
 */
export function recordTileSums(
  recorder: Recorder,
  scratch: Scratch,
  primitives: Primitives,
  strategy: Strategy,
  tiles: number,
): TileSums {
  if (strategy === 'serial') {
    const buffer = scratch.words(tiles)
    const total = { buffer: scratch.words(1), index: 0 }
    const recordSums = () => primitives.scan(recorder, scratch, buffer, buffer, tiles, total)
    return { buffer, total, recordSums }
  }
  const groups = Math.ceil(tiles / GROUP)
  const buffer = scratch.words(tiles + groups + 1)
  recorder.clear(buffer, 4 * tiles, 4 * (groups + 1))
  return { buffer, total: { buffer, index: tiles + groups }, recordSums: () => {} }
}
