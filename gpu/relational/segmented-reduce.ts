import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import type { DeviceWord, Primitives } from '../primitives/primitives.js'
import { groupsFor, kernelsFor } from '../primitives/strategy.js'

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

type ReduceKernels = Kernels<'reduce_tiles' | 'finish_tiles'>

/** Segmented reduce (`segmented-reduce.wesl`): a dispatch for what lies in a tile, one for what does not. */
export class SegmentedReduce {
  readonly #primitives: Primitives
  /** By the words of a result, those of pairs of words apart. */
  readonly #kernels: Readonly<Record<'narrow' | 'wide' | 'pairs' | 'long', ReduceKernels>>
  readonly #counts: Kernels<'measure_segments'>

  constructor(device: Device, primitives: Primitives) {
    const { strategy } = primitives
    const module = 'relational/segmented-reduce'
    const kernels = (form: 'wide' | 'pairs' | 'long' | undefined) =>
      kernelsFor(device, strategy, module, ['reduce_tiles', 'finish_tiles'], {
        wide: form === 'wide',
        pairs: form === 'pairs',
        long: form === 'long',
        serial: strategy === 'serial',
      })
    this.#primitives = primitives
    this.#kernels = {
      narrow: kernels(undefined),
      wide: kernels('wide'),
      pairs: kernels('pairs'),
      long: kernels('long'),
    }
    this.#counts = device.kernels(module, ['measure_segments'])
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
      const { starts, count: most, deviceCount = this.#primitives.unbounded } = segments
      const params = {
        count,
        segments: most,
        liveIndex: deviceCount.index,
        tiles: 0,
        operation: OPERATIONS.count,
      }
      const buffers = { starts, live: deviceCount.buffer, output }
      recorder.dispatch(this.#counts.measure_segments, buffers, params, most)
      return
    }
    const wide = reduction === 'wideSum' || reduction === 'floatSum'
    const kernels = wide ? this.#kernels.wide : this.#kernels.narrow
    this.#reduce(recorder, scratch, kernels, values, count, segments, reduction, output, wide ? 2 : 1)
  }

  /**
   * @param values `count` pairs of words
   * @param output gets a pair for each segment, as `record`'s; of sums four words, the lowest one first, of which the last means nothing
   */
  recordPairs(
    recorder: Recorder,
    scratch: Scratch,
    values: GPUBuffer,
    count: number,
    segments: SegmentStarts,
    reduction: PairReduction,
    output: GPUBuffer,
  ): void {
    const isLong = reduction === 'longSum' || reduction === 'signedLongSum'
    const kernels = isLong ? this.#kernels.long : this.#kernels.pairs
    this.#reduce(recorder, scratch, kernels, values, count, segments, reduction, output, isLong ? 4 : 2)
  }

  #reduce(
    recorder: Recorder,
    scratch: Scratch,
    kernels: ReduceKernels,
    values: GPUBuffer,
    count: number,
    { starts, count: segments, deviceCount = this.#primitives.unbounded }: SegmentStarts,
    reduction: Reduction | PairReduction,
    output: GPUBuffer,
    words: 1 | 2 | 4,
  ): void {
    const { strategy } = this.#primitives
    const tileSize = strategy === 'serial' ? TILE.serial : TILE.cooperative
    const tiles = Math.ceil(count / tileSize)
    const operation = OPERATIONS[reduction]
    const params = { count, segments, liveIndex: deviceCount.index, tiles, operation }
    this.#primitives.fill(recorder, output, segments * words, reduction === 'min' ? 0xffffffff : 0)
    if (tiles === 0 || segments === 0) return
    const groups = groupsFor(strategy, tiles)
    const heads = scratch.words(tiles * words)
    const tails = scratch.words(tiles * words)
    const buffers = { values, starts, live: deviceCount.buffer, output, heads, tails }
    recorder.dispatchGroups(kernels.reduce_tiles, buffers, params, groups)
    recorder.dispatchGroups(kernels.finish_tiles, buffers, params, groups)
  }
}
