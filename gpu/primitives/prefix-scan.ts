import type { Device } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { DeviceMemory } from '../memory/page-run.js'
import type { Scratch } from '../memory/scratch.js'
import { type DeviceWord, readableBeside } from './device-count.js'
import { groupsFor, kernelsFor, type Strategy, subgroupTile } from './strategy.js'

/** Words of a tile of the kernels for CPUs, and of an invocation of those for GPUs; `prefix-scan.wesl` and `compact.wesl` have the same numbers. */
export const SERIAL_TILE_WORDS = 256
const INVOCATION_WORDS = 16

/**
 * Exclusive prefix sums modulo 2^32: output[i] = input[0] + … + input[i-1].
 * @param output may be the input; always gets `count` words, in which elements past the device count are zeros
 * @param total gets the sum of all elements; may lie behind the `count` words of the output
 */
export type Scan = (
  recorder: Recorder,
  scratch: Scratch,
  input: DeviceMemory,
  output: DeviceMemory,
  count: number,
  total?: DeviceWord,
  deviceCount?: DeviceWord,
) => void

/** The scan of a device (`prefix-scan.wesl`): one dispatch up to a tile, three up to a tile of tiles, and so on. */
export function prefixScan(device: Device, strategy: Strategy, unbounded: DeviceWord): Scan {
  const { invocations, conditions } = subgroupTile(device, 'scan', strategy)
  const tileWords = strategy === 'serial' ? SERIAL_TILE_WORDS : invocations * INVOCATION_WORDS
  const kernels = <Name extends string>(names: readonly Name[], inPlace: boolean) =>
    kernelsFor(device, strategy, 'primitives/prefix-scan', names, { ...conditions, in_place: inPlace })
  const { reduce_tiles: reduceTiles, scan_tiles: scanTiles } = kernels(['reduce_tiles', 'scan_tiles'], false)
  const { scan_tiles: scanInPlace } = kernels(['scan_tiles'], true)
  const scan: Scan = (recorder, scratch, input, output, count, total, deviceCount = unbounded) => {
    const live = readableBeside(recorder, scratch, deviceCount, total?.buffer)
    // A scan of nothing still has a sum to write.
    const tiles = Math.max(1, Math.ceil(count / tileWords))
    const groups = groupsFor(strategy, tiles)
    const sums = tiles > 1 ? scratch.words(tiles) : live.buffer
    const params = {
      count,
      liveIndex: live.index,
      tiles,
      totalIndex: total?.index ?? 0,
      totalInOutput: total?.buffer === output ? 1 : 0,
    }
    if (tiles > 1) {
      recorder.dispatchGroups(reduceTiles, { input, live: live.buffer, sums }, params, groups)
      scan(recorder, scratch, sums, sums, tiles, total)
    }
    const hasTotals = tiles === 1 && total !== undefined && total.buffer !== output
    const totals = hasTotals ? total.buffer : scratch.words(1)
    const buffers = { input, live: live.buffer, bases: sums, output, totals }
    recorder.dispatchGroups(input === output ? scanInPlace : scanTiles, buffers, params, groups)
  }
  return scan
}
