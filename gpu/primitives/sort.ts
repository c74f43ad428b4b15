import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import type { PrefixScan } from './prefix-scan.js'
import { groupsFor, type Strategy } from './strategy.js'
import { ValueKernel } from './value-kernels.js'

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
interface WidthKernels {
  readonly counts: Kernels<'count_digits'>
  readonly scatterTiles: ValueKernel<'scatter_tiles'>
  /** Sorts what one tile holds; only where a workgroup shares a tile. */
  readonly sortTile: ValueKernel<'sort_tile'> | undefined
}

/**
 * Stable radix sort (`sort.wesl`, `serial-sort.wesl`): a count, a scan and a scatter for each byte of the keys; one dispatch
 * where a workgroup can sort the whole.
 */
export class RadixSort implements Sort {
  readonly #strategy: PlainStrategy
  readonly #scan: PrefixScan
  readonly #kernels: Readonly<Record<KeyWords, WidthKernels>>

  constructor(device: Device, strategy: PlainStrategy, scan: PrefixScan) {
    const serial = strategy === 'serial'
    const module = serial ? 'primitives/serial-sort' : 'primitives/sort'
    const kernels = (wide: boolean) => ({
      counts: device.kernels(module, ['count_digits'], { wide }),
      scatterTiles: new ValueKernel(device, module, 'scatter_tiles', { wide }),
      sortTile: serial ? undefined : new ValueKernel(device, module, 'sort_tile', { wide }),
    })
    this.#strategy = strategy
    this.#scan = scan
    this.#kernels = { 1: kernels(false), 2: kernels(true) }
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
      const buffers = { keys, sortedKeys: sorted.keys, sortedValues: sorted.values }
      kernels.sortTile.dispatch(recorder, values, buffers, { count, tiles, shift: 0, bits }, groups)
      return sorted
    }
    const histograms = scratch.words(DIGITS * tiles)
    let source = { keys, values }
    let spare: SortedPairs | undefined
    for (let shift = from; shift < bits; shift += DIGIT_BITS) {
      const params = { count, tiles, shift, bits: Math.min(DIGIT_BITS, bits - shift) }
      if (shift > from) [sorted, spare] = [spare ?? allocate(), sorted]
      recorder.dispatchGroups(kernels.counts.count_digits, { keys: source.keys, histograms }, params, groups)
      this.#scan.record(recorder, scratch, histograms, histograms, DIGITS * tiles)
      const columns = { keys: source.keys, sortedKeys: sorted.keys, sortedValues: sorted.values }
      const buffers = { ...columns, starts: histograms, places: histograms }
      kernels.scatterTiles.dispatch(recorder, source.values, buffers, params, groups)
      source = sorted
    }
    return sorted
  }
}
