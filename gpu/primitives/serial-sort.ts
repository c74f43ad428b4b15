import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import type { PrefixScan } from './prefix-scan.js'
import {
  type KeyWords,
  pairBuffers,
  type Sort,
  type SortedPairs,
  type SortOptions,
  type UnsortedPairs,
} from './sort.js'
import { groupsFor } from './strategy.js'

/** Pairs of a tile, digits of a pass and their bits; `serial-sort.wesl` has the same numbers. */
const TILE_PAIRS = 1024
const DIGITS = 256
const DIGIT_BITS = 8

type PassKernels = Kernels<'count_digits' | 'scatter_tiles'>

/** The stable radix sort for CPUs (`serial-sort.wesl`): a count, a scan and a scatter for each byte of the keys. */
export class SerialSort implements Sort {
  readonly #scan: PrefixScan
  readonly #kernels: Readonly<Record<KeyWords, PassKernels>>

  constructor(device: Device, scan: PrefixScan) {
    const kernels = (wide: boolean) =>
      device.kernels('primitives/serial-sort', ['count_digits', 'scatter_tiles'], { wide })
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
    const tiles = Math.ceil(count / TILE_PAIRS)
    const groups = groupsFor('serial', tiles)
    const places = scratch.words(DIGITS * tiles)
    let source: UnsortedPairs = { keys, values }
    let spare: SortedPairs | undefined
    for (let shift = from; shift < bits; shift += DIGIT_BITS) {
      if (shift > from) [sorted, spare] = [spare ?? allocate(), sorted]
      const buffers = { ...pairBuffers(source, sorted), histograms: places, places }
      const pass = { count, tiles, shift, bits: Math.min(DIGIT_BITS, bits - shift) }
      const params = { ...pass, positions: source.values === undefined ? 1 : 0 }
      recorder.dispatchGroups(kernels.count_digits, buffers, params, groups)
      this.#scan.record(recorder, scratch, places, places, DIGITS * tiles)
      recorder.dispatchGroups(kernels.scatter_tiles, buffers, params, groups)
      source = sorted
    }
    return sorted
  }
}
