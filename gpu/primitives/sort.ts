import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import type { PrefixScan } from './prefix-scan.js'
import { groupsFor, type Strategy } from './strategy.js'
import { dispatchWithValues, type ValueKernels, withValues } from './value-kernels.js'

/** The strategies that this sort is for; `SubgroupSort` is the one for the third. */
type PlainStrategy = Exclude<Strategy, 'subgroups'>

/** Pairs of a tile, digits of a pass and their bits; the kernels have the same numbers. */
const TILE_PAIRS = { cooperative: 4096, serial: 1024 }
const DIGITS = 256
const DIGIT_BITS = 8

/** 32-bit words of a key; a key of two words is a u64, low word first. */
export type KeyWords = 1 | 2

export interface SortOptions {
  /** Sort by this many of the lowest bits, 1 or more; all bits if absent. */
  readonly bits?: number
  /** But not by this many lowest ones, a multiple of 8 below `bits`; 0 if absent. */
  readonly from?: number
}

/** Columns of pairs in key order. */
export interface SortedPairs {
  readonly keys: GPUBuffer
  readonly values: GPUBuffer
}

/** A stable sort of pairs, as `Primitives.sort`. */
export interface Sort {
  record(
    recorder: Recorder,
    scratch: Scratch,
    keys: GPUBuffer,
    values: GPUBuffer | undefined,
    count: number,
    keyWords: KeyWords,
    options?: SortOptions,
  ): SortedPairs
}

/** The kernels for one width of keys. */
interface Kernels {
  readonly countDigits: Kernel
  readonly scatterTiles: ValueKernels
  /** Sorts what one tile holds; only where a workgroup shares a tile. */
  readonly sortTile: ValueKernels | undefined
}

/**
 * Stable radix sort (`sort.wesl`, `serial-sort.wesl`): a count, a scan and a scatter for each byte of the keys; one dispatch
 * where a workgroup can sort the whole.
 */
export class RadixSort implements Sort {
  readonly #strategy: PlainStrategy
  readonly #scan: PrefixScan
  readonly #kernels: Readonly<Record<KeyWords, Kernels>>

  private constructor(
    strategy: PlainStrategy,
    scan: PrefixScan,
    kernels: Readonly<Record<KeyWords, Kernels>>,
  ) {
    this.#strategy = strategy
    this.#scan = scan
    this.#kernels = kernels
  }

  static async create(device: Device, strategy: PlainStrategy, scan: PrefixScan): Promise<RadixSort> {
    const [narrow, wide] = await Promise.all([
      createKernels(device, strategy, false),
      createKernels(device, strategy, true),
    ])
    return new RadixSort(strategy, scan, { 1: narrow, 2: wide })
  }

  record(
    recorder: Recorder,
    scratch: Scratch,
    keys: GPUBuffer,
    values: GPUBuffer | undefined,
    count: number,
    keyWords: KeyWords,
    { bits = keyWords * 32, from = 0 }: SortOptions = {},
  ): SortedPairs {
    const kernels = this.#kernels[keyWords]
    const allocate = () => ({ keys: scratch.words(count * keyWords), values: scratch.words(count) })
    let sorted = allocate()
    if (count === 0) return sorted
    const tiles = Math.ceil(count / TILE_PAIRS[this.#strategy])
    const groups = groupsFor(this.#strategy, tiles)
    if (tiles <= 1 && from === 0 && kernels.sortTile !== undefined) {
      const buffers = [keys, sorted.keys, sorted.values]
      dispatchWithValues(recorder, kernels.sortTile, values, buffers, [count, tiles, 0, bits], groups)
      return sorted
    }
    const starts = scratch.words(DIGITS * tiles)
    let source = { keys, values }
    let spare: SortedPairs | undefined
    for (let shift = from; shift < bits; shift += DIGIT_BITS) {
      const params = [count, tiles, shift, Math.min(DIGIT_BITS, bits - shift)]
      if (shift > from) [sorted, spare] = [spare ?? allocate(), sorted]
      recorder.dispatchGroups(kernels.countDigits, [source.keys, starts], params, groups)
      this.#scan.record(recorder, scratch, starts, starts, DIGITS * tiles)
      const buffers = [source.keys, sorted.keys, sorted.values, starts]
      dispatchWithValues(recorder, kernels.scatterTiles, source.values, buffers, params, groups)
      source = sorted
    }
    return sorted
  }
}

async function createKernels(device: Device, strategy: PlainStrategy, wide: boolean): Promise<Kernels> {
  const serial = strategy === 'serial'
  const module = serial ? 'primitives/serial-sort' : 'primitives/sort'
  const common = { module, params: 4, conditions: { wide } }
  const [countDigits, scatterTiles, sortTile] = await Promise.all([
    device.kernel({
      ...common,
      entryPoint: 'count_digits',
      firstBinding: 1,
      bindings: ['read', 'write'],
    }),
    withValues(device, {
      ...common,
      entryPoint: 'scatter_tiles',
      bindings: ['read', 'write', 'write', serial ? 'write' : 'read'],
    }),
    serial
      ? undefined
      : withValues(device, { ...common, entryPoint: 'sort_tile', bindings: ['read', 'write', 'write'] }),
  ])
  return { countDigits, scatterTiles, sortTile }
}
