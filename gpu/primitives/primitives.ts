import type { Device } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import type { ColumnShape, Columns } from './columns.js'
import { Compaction } from './compact.js'
import { type DeviceWord, unboundedCount } from './device-count.js'
import { LeadingSort } from './leading-sort.js'
import { type AffineFunction, AffineMap } from './map.js'
import { Movement } from './move.js'
import { PrefixScan } from './prefix-scan.js'
import { SegmentedReduce } from './segmented-reduce.js'
import { SerialSort } from './serial-sort.js'
import type { KeyWords, Sort, SortedPairs, SortOptions } from './sort.js'
import { type Strategy, strategyFor } from './strategy.js'
import { SubgroupSort } from './subgroup-sort.js'

export type { ColumnShape, Columns } from './columns.js'
export type { DeviceWord } from './device-count.js'
export type { LeadingSort } from './leading-sort.js'
export { leadingBits } from './leading-sort.js'
export type { AffineFunction } from './map.js'
export type { PairReduction, Reduction, SegmentedReduce, SegmentStarts } from './segmented-reduce.js'
export type { KeyWords, SortedPairs, SortOptions } from './sort.js'
export type { Strategy } from './strategy.js'

/**
 * The data-parallel primitives that other kernels are built from (He et al. §3.1): each records device work on buffers of u32
 * words, reads nothing back, and takes what it needs besides from `scratch`. Counts are known to the host; where a
 * `deviceCount` can be given, `count` is its upper bound and fewer elements count if that word of the device is smaller.
 * Buffers that are read and buffers that are written must differ, except where said.
 *
 * Those that most work needs are methods that record. The others are parts with a `record` of their own, whose kernels are made
 * when they are first asked for: ask where your own kernels are made.
 */
export class Primitives {
  readonly strategy: Strategy
  readonly #device: Device
  readonly #unbounded: DeviceWord
  readonly #scan: PrefixScan
  readonly #sort: Sort
  readonly #compact: Compaction
  readonly #movement: Movement
  readonly #map: AffineMap

  private constructor(device: Device, strategy: Strategy, unbounded: DeviceWord) {
    this.#device = device
    this.strategy = strategy
    this.#unbounded = unbounded
    this.#scan = new PrefixScan(device, strategy, unbounded)
    this.#sort =
      strategy === 'serial' ? new SerialSort(device, this.#scan) : new SubgroupSort(device, strategy)
    this.#compact = new Compaction(device, strategy, this.#scan, unbounded)
    this.#movement = new Movement(device, unbounded)
    this.#map = new AffineMap(device)
  }

  /**
   * Makes the kernels of the primitives that are methods.
   * @param strategy the one that suits the device, unless given
   */
  static async create(device: Device, strategy: Strategy = strategyFor(device)): Promise<Primitives> {
    const primitives = new Primitives(device, strategy, await unboundedCount(device))
    await device.compiled()
    return primitives
  }

  /**
   * Exclusive prefix sums modulo 2^32: output[i] = input[0] + … + input[i-1].
   * @param output may be the input; always gets `count` words, in which elements past the device count are zeros
   * @param total gets the sum of all elements; may lie behind the `count` words of the output
   */
  scan(
    recorder: Recorder,
    scratch: Scratch,
    input: GPUBuffer,
    output: GPUBuffer,
    count: number,
    total?: DeviceWord,
    deviceCount?: DeviceWord,
  ): void {
    this.#scan.record(recorder, scratch, input, output, count, total, deviceCount)
  }

  /**
   * Sorts pairs of a key and a u32 value by key, stably. Keys and values are left as they are.
   * @param values the positions 0…count-1 if undefined
   * @param keyWords 1 for u32 keys, 2 for u64 keys (low word first)
   * @returns scratch buffers with the sorted keys and their values
   */
  sort(
    recorder: Recorder,
    scratch: Scratch,
    keys: GPUBuffer,
    values: GPUBuffer | undefined,
    count: number,
    keyWords: KeyWords,
    options?: SortOptions,
  ): SortedPairs {
    return this.#sort.record(recorder, scratch, keys, values, count, keyWords, options)
  }

  /**
   * Sorts columns of any shape by key, stably, by what `sort` and `gather` do. Left as they are.
   * @returns scratch columns
   */
  sortColumns(
    recorder: Recorder,
    scratch: Scratch,
    { keys, payloads }: Columns,
    count: number,
    shape: ColumnShape,
    options?: SortOptions,
  ): Columns {
    const { keyWords, payloadWords } = shape
    const values = payloadWords === 1 ? payloads : undefined
    const sorted = this.#sort.record(recorder, scratch, keys, values, count, keyWords, options)
    if (payloadWords === 1) return { keys: sorted.keys, payloads: sorted.values }
    if (payloadWords === 0 || payloads === undefined) return { keys: sorted.keys, payloads: undefined }
    const moved = scratch.words(count * payloadWords)
    this.#movement.record('gather', recorder, payloads, sorted.values, moved, count, payloadWords)
    return { keys: sorted.keys, payloads: moved }
  }

  /** Writes the positions of the flags that are not 0, ascending, to `output`, and the number of them to `total`. */
  compact(
    recorder: Recorder,
    scratch: Scratch,
    flags: GPUBuffer,
    count: number,
    output: GPUBuffer,
    total: DeviceWord,
    deviceCount?: DeviceWord,
  ): void {
    this.#compact.record(recorder, scratch, flags, count, output, total, deviceCount)
  }

  /** output[i] = source[indices[i]] for elements of `words` u32 words each. */
  gather(
    recorder: Recorder,
    source: GPUBuffer,
    indices: GPUBuffer,
    output: GPUBuffer,
    count: number,
    words: number,
    deviceCount?: DeviceWord,
  ): void {
    this.#movement.record('gather', recorder, source, indices, output, count, words, deviceCount)
  }

  /** output[indices[i]] = source[i] for elements of `words` u32 words each; of equal indices any one wins, word by word. */
  scatter(
    recorder: Recorder,
    source: GPUBuffer,
    indices: GPUBuffer,
    output: GPUBuffer,
    count: number,
    words: number,
    deviceCount?: DeviceWord,
  ): void {
    this.#movement.record('scatter', recorder, source, indices, output, count, words, deviceCount)
  }

  /** output[i] = multiplier * input[i] + addend modulo 2^32. Any other function of an element is a kernel of its own. */
  map(recorder: Recorder, input: GPUBuffer, output: GPUBuffer, count: number, affine: AffineFunction): void {
    this.#map.record(recorder, input, output, count, affine)
  }

  /** output[i] = value */
  fill(recorder: Recorder, output: GPUBuffer, count: number, value: number): void {
    this.#map.record(recorder, undefined, output, count, { multiplier: 0, addend: value })
  }

  /** output[i] = first + i modulo 2^32 */
  iota(recorder: Recorder, output: GPUBuffer, count: number, first = 0): void {
    this.#map.record(recorder, undefined, output, count, { multiplier: 1, addend: first })
  }

  /** For u64 keys that few of their bits tell apart: `leadingBits` says which. */
  leadingSort(): LeadingSort {
    return new LeadingSort(this.#device, this.#sort)
  }

  /** Sum, minimum, maximum or number of the elements of each segment, whatever the lengths of segments. */
  segmentedReduce(): SegmentedReduce {
    return new SegmentedReduce(this.#device, this.strategy, this.#map, this.#unbounded)
  }
}
