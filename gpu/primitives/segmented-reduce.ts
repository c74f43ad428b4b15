import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import { type DeviceWord, unboundedCount } from './device-count.js'
import type { AffineMap } from './map.js'
import { OnDemand } from './on-demand.js'
import { groupsFor, type Strategy } from './strategy.js'

/** Elements of a tile; as in `segmented-reduce.wesl`. */
const TILE = { cooperative: 4096, serial: 1024 }

/**
 * What a segment is reduced to: the sum of its elements modulo 2^32, or as a u64 (`wideSum`), their minimum or maximum, or how many
 * they are; of f32 the sum (`floatSum`), and in a second f32 what rounding takes from it. An empty segment has 0; its minimum is 2^32 - 1.
 */
export type Reduction = 'sum' | 'wideSum' | 'floatSum' | 'min' | 'max' | 'count'

/**
 * The same of pairs of words: extremes of u64, and sums of u64 (`longSum`) or of i64 (`signedLongSum`) as integers of 96 bits. An empty segment has
 * 0; its minimum is 2^64 - 1.
 */
export type PairReduction = 'min' | 'max' | 'longSum' | 'signedLongSum'

/** Numbers of the operations in the kernels. */
const OPERATIONS: Readonly<Record<Reduction | PairReduction, number>> = {
  sum: 0,
  wideSum: 0,
  min: 1,
  max: 2,
  floatSum: 3,
  count: 0,
  longSum: 0,
  signedLongSum: 4,
}

/** Neighbouring elements that together are all elements of a column. */
export interface SegmentStarts {
  /** Start of each segment, ascending from 0; a segment ends where the next one starts. */
  readonly starts: GPUBuffer
  readonly count: number
  /** The number of segments, where it may be less than `count`. */
  readonly deviceCount?: DeviceWord
}

interface ReduceKernels {
  readonly reduceTiles: Kernel
  readonly finishTiles: Kernel
}

/** Segmented reduce (`segmented-reduce.wesl`): a dispatch for what lies in a tile, one for what does not. */
export class SegmentedReduce {
  readonly #strategy: Strategy
  readonly #map: AffineMap
  readonly #narrow: ReduceKernels
  readonly #wide: ReduceKernels
  readonly #further: OnDemand<'pairs' | 'long', ReduceKernels>
  readonly #measureSegments: Kernel
  readonly #unbounded: DeviceWord

  private constructor(
    strategy: Strategy,
    map: AffineMap,
    narrow: ReduceKernels,
    wide: ReduceKernels,
    further: OnDemand<'pairs' | 'long', ReduceKernels>,
    measureSegments: Kernel,
    unbounded: DeviceWord,
  ) {
    this.#strategy = strategy
    this.#map = map
    this.#narrow = narrow
    this.#wide = wide
    this.#further = further
    this.#measureSegments = measureSegments
    this.#unbounded = unbounded
  }

  static async create(device: Device, strategy: Strategy, map: AffineMap): Promise<SegmentedReduce> {
    const module = 'primitives/segmented-reduce'
    const [narrow, wide, measureSegments, unbounded] = await Promise.all([
      createKernels(device, module, strategy, undefined),
      createKernels(device, module, strategy, 'wide'),
      device.kernel({
        module,
        entryPoint: 'measure_segments',
        params: 5,
        firstBinding: 1,
        bindings: ['read', 'read', 'write'],
      }),
      unboundedCount(device),
    ])
    const further = new OnDemand((form: 'pairs' | 'long') => createKernels(device, module, strategy, form))
    return new SegmentedReduce(strategy, map, narrow, wide, further, measureSegments, unbounded)
  }

  /**
   * @param values `count` words
   * @param output gets a word for each segment; two, the low one first, for `wideSum` and `floatSum`. Those past the device's number of segments
   * are left as they are or get an empty segment's
   */
  record(
    recorder: Recorder,
    scratch: Scratch,
    values: GPUBuffer,
    count: number,
    segments: SegmentStarts,
    reduction: Reduction,
    output: GPUBuffer,
  ): void {
    if (reduction === 'count') {
      const { starts, count: most, deviceCount = this.#unbounded } = segments
      const params = [count, most, deviceCount.index, 0, OPERATIONS.count]
      recorder.dispatch(this.#measureSegments, [starts, deviceCount.buffer, output], params, most)
      return
    }
    const wide = reduction === 'wideSum' || reduction === 'floatSum'
    const kernels = wide ? this.#wide : this.#narrow
    this.#reduce(recorder, scratch, kernels, values, count, segments, reduction, output, wide ? 2 : 1)
  }

  /**
   * @param values `count` pairs of words
   * @param output gets a pair for each segment, as `record`'s; of sums four words, the lowest one first, of which the last means nothing
   */
  async recordPairs(
    recorder: Recorder,
    scratch: Scratch,
    values: GPUBuffer,
    count: number,
    segments: SegmentStarts,
    reduction: PairReduction,
    output: GPUBuffer,
  ): Promise<void> {
    const isLong = reduction === 'longSum' || reduction === 'signedLongSum'
    const kernels = await this.#further.get(isLong ? 'long' : 'pairs')
    this.#reduce(recorder, scratch, kernels, values, count, segments, reduction, output, isLong ? 4 : 2)
  }

  #reduce(
    recorder: Recorder,
    scratch: Scratch,
    { reduceTiles, finishTiles }: ReduceKernels,
    values: GPUBuffer,
    count: number,
    { starts, count: segments, deviceCount = this.#unbounded }: SegmentStarts,
    reduction: Reduction | PairReduction,
    output: GPUBuffer,
    words: 1 | 2 | 4,
  ): void {
    const tileSize = this.#strategy === 'serial' ? TILE.serial : TILE.cooperative
    const tiles = Math.ceil(count / tileSize)
    const params = [count, segments, deviceCount.index, tiles, OPERATIONS[reduction]]
    const empty = { multiplier: 0, addend: reduction === 'min' ? 0xffffffff : 0 }
    this.#map.record(recorder, undefined, output, segments * words, empty)
    if (tiles === 0 || segments === 0) return
    const groups = groupsFor(this.#strategy, tiles)
    const partial = [output, scratch.words(tiles * words), scratch.words(tiles * words)]
    recorder.dispatchGroups(reduceTiles, [values, starts, deviceCount.buffer, ...partial], params, groups)
    recorder.dispatchGroups(finishTiles, [starts, deviceCount.buffer, ...partial], params, groups)
  }
}

async function createKernels(
  device: Device,
  module: string,
  strategy: Strategy,
  form: 'wide' | 'pairs' | 'long' | undefined,
): Promise<ReduceKernels> {
  const forms = { wide: form === 'wide', pairs: form === 'pairs', long: form === 'long' }
  const common = { module, params: 5, conditions: { ...forms, serial: strategy === 'serial' } }
  const partial = ['read', 'read', 'write', 'write', 'write'] as const
  const [reduceTiles, finishTiles] = await Promise.all([
    device.kernel({ ...common, entryPoint: 'reduce_tiles', bindings: ['read', ...partial] }),
    device.kernel({ ...common, entryPoint: 'finish_tiles', firstBinding: 1, bindings: partial }),
  ])
  return { reduceTiles, finishTiles }
}
