import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import type { DeviceWord } from './device-count.js'
import { type PrefixScan, SERIAL_TILE_WORDS } from './prefix-scan.js'
import { groupsFor, kernelsFor, type Strategy, subgroupTile } from './strategy.js'

/** Flags of an invocation of the kernels for GPUs; `compact.wesl` has the same number. */
const ROUNDS = 32

/**
 * Lists the positions of set flags (`compact.wesl`): the count of every tile, a scan, the positions.
 */
export class Compaction {
  readonly #strategy: Strategy
  readonly #scan: PrefixScan
  readonly #kernels: Kernels<'count_flags' | 'write_positions'>
  /** Flags of a tile. */
  readonly #tile: number
  /** Words that `count_flags` keeps of a tile's flags; none where they are read again. */
  readonly #bitWords: number
  readonly #unbounded: DeviceWord

  constructor(device: Device, strategy: Strategy, scan: PrefixScan, unbounded: DeviceWord) {
    this.#strategy = strategy
    this.#scan = scan
    this.#unbounded = unbounded
    const { invocations, conditions } = subgroupTile(device, 'scan', strategy)
    const entryPoints = ['count_flags', 'write_positions'] as const
    this.#kernels = kernelsFor(device, strategy, 'primitives/compact', entryPoints, conditions)
    const isSerial = strategy === 'serial'
    this.#tile = isSerial ? SERIAL_TILE_WORDS : invocations * ROUNDS
    this.#bitWords = isSerial ? 0 : invocations
  }

  record(
    recorder: Recorder,
    scratch: Scratch,
    flags: GPUBuffer,
    count: number,
    output: GPUBuffer,
    total: DeviceWord,
    live: DeviceWord = this.#unbounded,
  ): void {
    const tiles = Math.ceil(count / this.#tile)
    const groups = groupsFor(this.#strategy, tiles)
    const params = { count, liveIndex: live.index, tiles }
    const bases = scratch.words(tiles)
    const bits = scratch.words(this.#bitWords * tiles)
    const input = { flags, live: live.buffer }
    recorder.dispatchGroups(this.#kernels.count_flags, { ...input, counts: bases, bits }, params, groups)
    this.#scan.record(recorder, scratch, bases, bases, tiles, total)
    const known = { ...input, bases, knownBits: bits, output }
    recorder.dispatchGroups(this.#kernels.write_positions, known, params, groups)
  }
}
