import type { Device } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { DeviceMemory } from '../memory/page-run.js'
import type { Scratch } from '../memory/scratch.js'
import type { DeviceWord } from './device-count.js'
import { type Scan, SERIAL_TILE_WORDS } from './prefix-scan.js'
import { groupsFor, kernelsFor, type Strategy, subgroupTile } from './strategy.js'

/** Flags of an invocation of the kernels for GPUs; `compact.wesl` has the same number. */
const ROUNDS = 32

/** Writes the positions of the flags that are set, which are not 0, or of the others, ascending, to `output`, and the number of them to `total`. */
export type Compact = (
  recorder: Recorder,
  scratch: Scratch,
  flags: DeviceMemory,
  count: number,
  output: DeviceMemory,
  total: DeviceWord,
  wanted?: 'set' | 'unset',
) => void

/** The compaction of a device (`compact.wesl`): the count of every tile, a scan, the positions. */
export function compaction(device: Device, strategy: Strategy, scan: Scan): Compact {
  const { invocations, conditions } = subgroupTile(device, 'scan', strategy)
  const entryPoints = ['count_flags', 'write_positions'] as const
  const kernels = kernelsFor(device, strategy, 'primitives/compact', entryPoints, conditions)
  const isSerial = strategy === 'serial'
  const tile = isSerial ? SERIAL_TILE_WORDS : invocations * ROUNDS
  // Words that are kept of a tile's flags; none where they are read again.
  const bitWords = isSerial ? 0 : invocations
  return (recorder, scratch, flags, count, output, total, wanted = 'set') => {
    const tiles = Math.ceil(count / tile)
    const groups = groupsFor(strategy, tiles)
    const params = { count, tiles, unset: wanted === 'unset' ? 1 : 0 }
    const bases = scratch.words(tiles)
    const bits = scratch.words(bitWords * tiles)
    recorder.dispatchGroups(kernels.count_flags, { flags, counts: bases, bits }, params, groups)
    scan(recorder, scratch, bases, bases, tiles, total)
    const known = { flags, bases, knownBits: bits, output }
    recorder.dispatchGroups(kernels.write_positions, known, params, groups)
  }
}
