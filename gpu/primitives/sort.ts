import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import type { PrefixScan } from './prefix-scan.js'

/** Pairs that one workgroup sorts, digits of a pass and their bits; `sort.wesl` has the same numbers. */
export const TILE_PAIRS = 4096
const DIGITS = 256
const DIGIT_BITS = 8

/** 32-bit words of a key; a key of two words is a u64, low word first. */
export type KeyWords = 1 | 2

export interface SortOptions {
  /** Sort by this many of the lowest bits, 1 or more; all bits if absent. */
  readonly bits?: number
}

/** Columns of pairs in key order. */
export interface SortedPairs {
  readonly keys: GPUBuffer
  readonly values: GPUBuffer
}

/** A kernel twice: one takes a column of values, the other makes the positions of the keys its values. */
interface ValueKernels {
  readonly given: Kernel
  readonly positions: Kernel
}

/** The kernels for one width of keys. */
interface Kernels {
  readonly countDigits: Kernel
  readonly scatterTiles: ValueKernels
  readonly sortTile: ValueKernels
}

/** Stable radix sort (`sort.wesl`): one dispatch up to a tile, else a count, a scan and a scatter for each byte of the keys. */
export class RadixSort {
  readonly #scan: PrefixScan
  readonly #kernels: Readonly<Record<KeyWords, Kernels>>

  private constructor(scan: PrefixScan, kernels: Readonly<Record<KeyWords, Kernels>>) {
    this.#scan = scan
    this.#kernels = kernels
  }

  static async create(device: Device, scan: PrefixScan): Promise<RadixSort> {
    const [narrow, wide] = await Promise.all([createKernels(device, false), createKernels(device, true)])
    return new RadixSort(scan, { 1: narrow, 2: wide })
  }

  record(
    recorder: Recorder,
    scratch: Scratch,
    keys: GPUBuffer,
    values: GPUBuffer | undefined,
    count: number,
    keyWords: KeyWords,
    { bits = keyWords * 32 }: SortOptions = {},
  ): SortedPairs {
    const kernels = this.#kernels[keyWords]
    const tiles = Math.ceil(count / TILE_PAIRS)
    const allocate = () => ({ keys: scratch.words(count * keyWords), values: scratch.words(count) })
    let sorted = allocate()
    if (tiles <= 1) {
      dispatch(
        recorder,
        kernels.sortTile,
        values,
        [keys, sorted.keys, sorted.values],
        [count, tiles, 0, bits],
        tiles,
      )
      return sorted
    }
    const starts = scratch.words(DIGITS * tiles)
    let source = { keys, values }
    let spare: SortedPairs | undefined
    for (let shift = 0; shift < bits; shift += DIGIT_BITS) {
      const params = [count, tiles, shift, Math.min(DIGIT_BITS, bits - shift)]
      if (shift > 0) [sorted, spare] = [spare ?? allocate(), sorted]
      recorder.dispatchGroups(kernels.countDigits, [source.keys, starts], params, tiles)
      this.#scan.record(recorder, scratch, starts, starts, DIGITS * tiles)
      const buffers = [source.keys, sorted.keys, sorted.values, starts]
      dispatch(recorder, kernels.scatterTiles, source.values, buffers, params, tiles)
      source = sorted
    }
    return sorted
  }
}

function dispatch(
  recorder: Recorder,
  { given, positions }: ValueKernels,
  values: GPUBuffer | undefined,
  buffers: readonly GPUBuffer[],
  params: readonly number[],
  tiles: number,
): void {
  if (values === undefined) recorder.dispatchGroups(positions, buffers, params, tiles)
  else recorder.dispatchGroups(given, [values, ...buffers], params, tiles)
}

async function createKernels(device: Device, wide: boolean): Promise<Kernels> {
  const common = { module: 'primitives/sort', firstBinding: 1, params: 4 }
  const withValues = async (
    entryPoint: string,
    ...bindings: readonly ('read' | 'write')[]
  ): Promise<ValueKernels> => {
    const [given, positions] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint,
        firstBinding: 0,
        bindings: ['read', ...bindings],
        conditions: { wide },
      }),
      device.kernel({ ...common, entryPoint, bindings, conditions: { wide, positions: true } }),
    ])
    return { given, positions }
  }
  const [countDigits, scatterTiles, sortTile] = await Promise.all([
    device.kernel({
      ...common,
      entryPoint: 'count_digits',
      bindings: ['read', 'write'],
      conditions: { wide },
    }),
    withValues('scatter_tiles', 'read', 'write', 'write', 'read'),
    withValues('sort_tile', 'read', 'write', 'write'),
  ])
  return { countDigits, scatterTiles, sortTile }
}
