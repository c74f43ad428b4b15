import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import { type DeviceWord, unboundedCount } from './device-count.js'
import { type PrefixScan, TILE_WORDS } from './prefix-scan.js'
import { groupsFor, type Strategy } from './strategy.js'

/** Lists the positions of set flags (`compact.wesl`): the count of every tile, a scan, the positions. */
export class Compaction {
  readonly #strategy: Strategy
  readonly #scan: PrefixScan
  readonly #countFlags: Kernel
  readonly #writePositions: Kernel
  readonly #unbounded: DeviceWord

  private constructor(
    strategy: Strategy,
    scan: PrefixScan,
    countFlags: Kernel,
    writePositions: Kernel,
    unbounded: DeviceWord,
  ) {
    this.#strategy = strategy
    this.#scan = scan
    this.#countFlags = countFlags
    this.#writePositions = writePositions
    this.#unbounded = unbounded
  }

  static async create(device: Device, strategy: Strategy, scan: PrefixScan): Promise<Compaction> {
    const common = { module: 'primitives/compact', params: 3, conditions: { serial: strategy === 'serial' } }
    const [countFlags, writePositions, unbounded] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'count_flags', bindings: ['read', 'read', 'write'] }),
      device.kernel({
        ...common,
        entryPoint: 'write_positions',
        bindings: ['read', 'read', 'read', 'write'],
      }),
      unboundedCount(device),
    ])
    return new Compaction(strategy, scan, countFlags, writePositions, unbounded)
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
    const tiles = Math.ceil(count / TILE_WORDS[this.#strategy])
    const groups = groupsFor(this.#strategy, tiles)
    const params = [count, live.index, tiles]
    const bases = scratch.words(tiles)
    recorder.dispatchGroups(this.#countFlags, [flags, live.buffer, bases], params, groups)
    this.#scan.record(recorder, scratch, bases, bases, tiles, total)
    recorder.dispatchGroups(this.#writePositions, [flags, live.buffer, bases, output], params, groups)
  }
}
