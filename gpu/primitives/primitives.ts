import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { DeviceMemory } from '../memory/page-run.js'
import { type Compact, compaction } from './compact.js'
import { type DeviceWord, unboundedCount } from './device-count.js'
import { LeadingSort } from './leading-sort.js'
import { prefixScan, type Scan } from './prefix-scan.js'
import { serialSort } from './serial-sort.js'
import type { Sort } from './sort.js'
import { type Strategy, strategyFor } from './strategy.js'
import { subgroupSort } from './subgroup-sort.js'

export type { DeviceWord } from './device-count.js'
export type { LeadingSort } from './leading-sort.js'
export { leadingBits } from './leading-sort.js'
export type { KeyWords, SortOptions } from './sort.js'
export type { Strategy } from './strategy.js'

/** An affine function of u32 words, modulo 2^32. */
export interface AffineFunction {
  readonly multiplier: number
  readonly addend: number
}

/**
 * The data-parallel primitives that other kernels are built from (He et al. §3.1): each records device work on buffers of u32
 * words, reads nothing back, and takes what it needs besides from `scratch`. Counts are known to the host; where a
 * `deviceCount` can be given, `count` is its upper bound and fewer elements count if that word of the device is smaller.
 * Buffers that are read and buffers that are written must differ, except where said.
 */
export class Primitives {
  readonly strategy: Strategy
  readonly scan: Scan
  readonly sort: Sort
  readonly compact: Compact
  /** A count that bounds nothing. */
  readonly unbounded: DeviceWord
  readonly #device: Device
  readonly #moves: Kernels<'gather' | 'scatter'>
  readonly #mapColumn: Kernels<'map_affine'>
  readonly #mapPositions: Kernels<'map_affine'>

  private constructor(device: Device, strategy: Strategy, unbounded: DeviceWord) {
    this.#device = device
    this.strategy = strategy
    this.unbounded = unbounded
    this.scan = prefixScan(device, strategy, unbounded)
    this.sort = strategy === 'serial' ? serialSort(device, this.scan) : subgroupSort(device, strategy)
    this.compact = compaction(device, strategy, this.scan)
    this.#moves = device.kernels('primitives/move', ['gather', 'scatter'])
    this.#mapColumn = device.kernels('primitives/map', ['map_affine'])
    this.#mapPositions = device.kernels('primitives/map', ['map_affine'], { positions: true })
  }

  /**
   * Makes the kernels of the primitives, but for those of `leadingSort`.
   * @param strategy the one that suits the device, unless given
   */
  static async create(device: Device, strategy: Strategy = strategyFor(device)): Promise<Primitives> {
    const primitives = new Primitives(device, strategy, await unboundedCount(device))
    await device.compiled()
    return primitives
  }

  /** output[i] = source[indices[i]] for elements of `words` u32 words each. */
  gather(
    recorder: Recorder,
    source: DeviceMemory,
    indices: DeviceMemory,
    output: DeviceMemory,
    count: number,
    words: number,
    live = this.unbounded,
  ): void {
    const buffers = { source, indices, live: live.buffer, output }
    recorder.dispatch(this.#moves.gather, buffers, { count, liveIndex: live.index, words }, count * words)
  }

  /** output[indices[i]] = source[i] for elements of `words` u32 words each; of equal indices any one wins, word by word. */
  scatter(
    recorder: Recorder,
    source: DeviceMemory,
    indices: DeviceMemory,
    output: DeviceMemory,
    count: number,
    words: number,
    live = this.unbounded,
  ): void {
    const buffers = { source, indices, live: live.buffer, output }
    recorder.dispatch(this.#moves.scatter, buffers, { count, liveIndex: live.index, words }, count * words)
  }

  /** output[i] = multiplier * input[i] + addend modulo 2^32. Any other function of an element is a kernel of its own. */
  map(
    recorder: Recorder,
    input: DeviceMemory,
    output: DeviceMemory,
    count: number,
    affine: AffineFunction,
  ): void {
    const params = { count, ...affine }
    recorder.dispatch(this.#mapColumn.map_affine, { input, output }, params, Math.ceil(count / 4))
  }

  /** output[i] = value */
  fill(recorder: Recorder, output: DeviceMemory, count: number, value: number): void {
    this.#fromPositions(recorder, output, { count, multiplier: 0, addend: value })
  }

  /** output[i] = first + i modulo 2^32 */
  iota(recorder: Recorder, output: DeviceMemory, count: number, first = 0): void {
    this.#fromPositions(recorder, output, { count, multiplier: 1, addend: first })
  }

  /** For u64 keys that few of their bits tell apart, made when it is asked for: `leadingBits` says which. */
  leadingSort(): LeadingSort {
    return new LeadingSort(this.#device, this.sort)
  }

  #fromPositions(recorder: Recorder, output: DeviceMemory, params: AffineFunction & { count: number }): void {
    recorder.dispatch(this.#mapPositions.map_affine, { output }, { ...params }, Math.ceil(params.count / 4))
  }
}
