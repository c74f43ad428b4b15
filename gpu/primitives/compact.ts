import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import { type DeviceWord, unboundedCount } from './device-count.js'
import { type PrefixScan, TILE_WORDS } from './prefix-scan.js'
import { groupsFor, type Strategy, subgroupTile } from './strategy.js'

/** Flags of an invocation of the kernels for subgroups; `subgroup-compact.wesl` has the same number. */
const SUBGROUP_ROUNDS = 32

/** How flags are counted and positions written by one strategy. */
interface Kernels {
  /** Flags of a tile. */
  readonly tile: number
  /** Words that `countFlags` keeps for `writePositions` of a tile's flags; none where those are read again. */
  readonly bitWords: number
  readonly countFlags: Kernel
  readonly writePositions: Kernel
}

/**
 * Lists the positions of set flags (`compact.wesl`, `subgroup-compact.wesl`): the count of every tile, a scan, the positions.
 */
export class Compaction {
  readonly #strategy: Strategy
  readonly #scan: PrefixScan
  readonly #kernels: Kernels
  readonly #unbounded: DeviceWord

  private constructor(strategy: Strategy, scan: PrefixScan, kernels: Kernels, unbounded: DeviceWord) {
    this.#strategy = strategy
    this.#scan = scan
    this.#kernels = kernels
    this.#unbounded = unbounded
  }

  static async create(device: Device, strategy: Strategy, scan: PrefixScan): Promise<Compaction> {
    const [kernels, unbounded] = await Promise.all([
      strategy === 'subgroups' ? createForSubgroups(device) : createPlain(device, strategy),
      unboundedCount(device),
    ])
    return new Compaction(strategy, scan, kernels, unbounded)
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
    const { tile, bitWords, countFlags, writePositions } = this.#kernels
    const tiles = Math.ceil(count / tile)
    const groups = groupsFor(this.#strategy, tiles)
    const params = [count, live.index, tiles]
    const bases = scratch.words(tiles)
    const input = [flags, live.buffer, bases]
    const bits = bitWords === 0 ? [] : [scratch.words(bitWords * tiles)]
    recorder.dispatchGroups(countFlags, [...input, ...bits], params, groups)
    this.#scan.record(recorder, scratch, bases, bases, tiles, total)
    const known = bitWords === 0 ? input : [bases, ...bits]
    recorder.dispatchGroups(writePositions, [...known, output], params, groups)
  }
}

async function createPlain(device: Device, strategy: 'cooperative' | 'serial'): Promise<Kernels> {
  const common = { module: 'primitives/compact', params: 3, conditions: { serial: strategy === 'serial' } }
  const [countFlags, writePositions] = await Promise.all([
    device.kernel({ ...common, entryPoint: 'count_flags', bindings: ['read', 'read', 'write'] }),
    device.kernel({ ...common, entryPoint: 'write_positions', bindings: ['read', 'read', 'read', 'write'] }),
  ])
  return { tile: TILE_WORDS[strategy], bitWords: 0, countFlags, writePositions }
}

async function createForSubgroups(device: Device): Promise<Kernels> {
  const { invocations, conditions } = subgroupTile(device, 'scan')
  const common = { module: 'primitives/subgroup-compact', params: 3, conditions }
  const [countFlags, writePositions] = await Promise.all([
    device.kernel({ ...common, entryPoint: 'count_flags', bindings: ['read', 'read', 'write', 'write'] }),
    device.kernel({
      ...common,
      entryPoint: 'write_positions',
      firstBinding: 2,
      bindings: ['read', 'read', 'write'],
    }),
  ])
  return { tile: invocations * SUBGROUP_ROUNDS, bitWords: invocations, countFlags, writePositions }
}
