import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import { type DeviceWord, readableBeside, unboundedCount } from './device-count.js'
import { groupsFor, type Strategy, subgroupTile } from './strategy.js'

/** Words of a tile; `tile.wesl`, `prefix-scan.wesl` and `compact.wesl` have the same numbers. */
export const TILE_WORDS = { cooperative: 4096, serial: 256 }

type Kernels = Readonly<Record<'reduce' | 'scan' | 'scanInPlace', Kernel>>

/** Words of an invocation of the kernels for subgroups; `subgroup-scan.wesl` has the same number. */
const SUBGROUP_WORDS = 16

/** Exclusive prefix sums (`prefix-scan.wesl`, `subgroup-scan.wesl`): one dispatch up to a tile, three up to a tile of tiles, and so on. */
export class PrefixScan {
  readonly #strategy: Strategy
  readonly #tileWords: number
  readonly #kernels: Kernels
  readonly #unbounded: DeviceWord

  private constructor(strategy: Strategy, tileWords: number, kernels: Kernels, unbounded: DeviceWord) {
    this.#strategy = strategy
    this.#tileWords = tileWords
    this.#kernels = kernels
    this.#unbounded = unbounded
  }

  static async create(device: Device, strategy: Strategy): Promise<PrefixScan> {
    const subgroups = strategy === 'subgroups' ? subgroupTile(device, 'scan') : undefined
    const module = subgroups === undefined ? 'primitives/prefix-scan' : 'primitives/subgroup-scan'
    const conditions = subgroups?.conditions ?? { serial: strategy === 'serial' }
    const tileWords =
      strategy === 'subgroups'
        ? subgroupTile(device, 'scan').invocations * SUBGROUP_WORDS
        : TILE_WORDS[strategy]
    const scanTiles = { module, entryPoint: 'scan_tiles', params: 5 }
    const [reduce, scan, scanInPlace, unbounded] = await Promise.all([
      device.kernel({
        module,
        entryPoint: 'reduce_tiles',
        bindings: ['read', 'read', 'write'],
        params: 5,
        conditions,
      }),
      device.kernel({
        ...scanTiles,
        bindings: ['read', 'read', 'read', 'write', 'write'],
        conditions,
      }),
      device.kernel({
        ...scanTiles,
        firstBinding: 1,
        bindings: ['read', 'read', 'write', 'write'],
        conditions: { ...conditions, in_place: true },
      }),
      unboundedCount(device),
    ])
    return new PrefixScan(strategy, tileWords, { reduce, scan, scanInPlace }, unbounded)
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
    if (tiles > 1) {
      recorder.dispatchGroups(
        this.#kernels.reduce,
        [input, live.buffer, sums],
        [count, live.index, tiles],
        groups,
      )
      this.record(recorder, scratch, sums, sums, tiles, total)
    }
    const totalInOutput = total?.buffer === output
    const totals = tiles > 1 || totalInOutput ? undefined : total?.buffer
    const buffers = [live.buffer, sums, output, totals ?? scratch.words(1)]
    const params = [count, live.index, tiles, total?.index ?? 0, totalInOutput ? 1 : 0]
    if (input === output) recorder.dispatchGroups(this.#kernels.scanInPlace, buffers, params, groups)
    else recorder.dispatchGroups(this.#kernels.scan, [input, ...buffers], params, groups)
  }
}
