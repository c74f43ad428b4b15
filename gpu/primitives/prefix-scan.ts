import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import { type DeviceWord, readableBeside } from './device-count.js'
import { groupsFor, kernelsFor, type Strategy, subgroupTile } from './strategy.js'

/** Words of a tile of the kernels for CPUs, and of an invocation of those for GPUs; `prefix-scan.wesl` and `compact.wesl` have the same numbers. */
export const SERIAL_TILE_WORDS = 256
const INVOCATION_WORDS = 16

/** Exclusive prefix sums (`prefix-scan.wesl`): one dispatch up to a tile, three up to a tile of tiles, and so on. */
export class PrefixScan {
  readonly #strategy: Strategy
  readonly #tileWords: number
  readonly #kernels: Kernels<'reduce_tiles' | 'scan_tiles'>
  readonly #inPlace: Kernels<'scan_tiles'>
  readonly #unbounded: DeviceWord

  constructor(device: Device, strategy: Strategy, unbounded: DeviceWord) {
    const module = 'primitives/prefix-scan'
    const { invocations, conditions } = subgroupTile(device, 'scan', strategy)
    this.#strategy = strategy
    this.#tileWords = strategy === 'serial' ? SERIAL_TILE_WORDS : invocations * INVOCATION_WORDS
    this.#kernels = kernelsFor(device, strategy, module, ['reduce_tiles', 'scan_tiles'], conditions)
    this.#inPlace = kernelsFor(device, strategy, module, ['scan_tiles'], { ...conditions, in_place: true })
    this.#unbounded = unbounded
  }

  record(
    recorder: Recorder,
    scratch: Scratch,
    input: GPUBuffer,
    output: GPUBuffer,
    count: number,
    total?: DeviceWord,
    deviceCount: DeviceWord = this.#unbounded,
  ): void {
    const live = readableBeside(recorder, scratch, deviceCount, total?.buffer)
    // A scan of nothing still has a sum to write.
    const tiles = Math.max(1, Math.ceil(count / this.#tileWords))
    const groups = groupsFor(this.#strategy, tiles)
    const sums = tiles > 1 ? scratch.words(tiles) : live.buffer
    const params = {
      count,
      liveIndex: live.index,
      tiles,
      totalIndex: total?.index ?? 0,
      totalInOutput: total?.buffer === output ? 1 : 0,
    }
    if (tiles > 1) {
      recorder.dispatchGroups(this.#kernels.reduce_tiles, { input, live: live.buffer, sums }, params, groups)
      this.record(recorder, scratch, sums, sums, tiles, total)
    }
    const hasTotals = tiles === 1 && total !== undefined && total.buffer !== output
    const totals = hasTotals ? total.buffer : scratch.words(1)
    const { scan_tiles: scan } = input === output ? this.#inPlace : this.#kernels
    recorder.dispatchGroups(scan, { input, live: live.buffer, bases: sums, output, totals }, params, groups)
  }
}
