import type { Device } from '../device/device.js'
import type { Access, Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import type { PrefixScan } from './prefix-scan.js'
import { groupsFor, type Strategy } from './strategy.js'

/** Pairs of a tile, digits of a pass and their bits; the kernels have the same numbers. */
const TILE_PAIRS = { cooperative: 4096, serial: 1024 }
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
  /** Sorts what one tile holds; only where a workgroup shares a tile. */
  readonly sortTile: ValueKernels | undefined
}

/**
 * Stable radix sort (`sort.wesl`, `serial-sort.wesl`): a count, a scan and a scatter for each byte of the keys; one dispatch
 * where a workgroup can sort the whole.
 */
export class RadixSort {
  readonly #strategy: Strategy
  readonly #scan: PrefixScan
  readonly #kernels: Readonly<Record<KeyWords, Kernels>>

  private constructor(strategy: Strategy, scan: PrefixScan, kernels: Readonly<Record<KeyWords, Kernels>>) {
    this.#strategy = strategy
    this.#scan = scan
    this.#kernels = kernels
  }

  static async create(device: Device, strategy: Strategy, scan: PrefixScan): Promise<RadixSort> {
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
    { bits = keyWords * 32 }: SortOptions = {},
  ): SortedPairs {
    const kernels = this.#kernels[keyWords]
    const allocate = () => ({ keys: scratch.words(count * keyWords), values: scratch.words(count) })
    let sorted = allocate()
    if (count === 0) return sorted
    const tiles = Math.ceil(count / TILE_PAIRS[this.#strategy])
    const groups = groupsFor(this.#strategy, tiles)
    if (tiles <= 1 && kernels.sortTile !== undefined) {
      const buffers = [keys, sorted.keys, sorted.values]
      dispatch(recorder, kernels.sortTile, values, buffers, [count, tiles, 0, bits], groups)
      return sorted
    }
    const starts = scratch.words(DIGITS * tiles)
    let source = { keys, values }
    let spare: SortedPairs | undefined
    for (let shift = 0; shift < bits; shift += DIGIT_BITS) {
      const params = [count, tiles, shift, Math.min(DIGIT_BITS, bits - shift)]
      if (shift > 0) [sorted, spare] = [spare ?? allocate(), sorted]
      recorder.dispatchGroups(kernels.countDigits, [source.keys, starts], params, groups)
      this.#scan.record(recorder, scratch, starts, starts, DIGITS * tiles)
      const buffers = [source.keys, sorted.keys, sorted.values, starts]
      dispatch(recorder, kernels.scatterTiles, source.values, buffers, params, groups)
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
  groups: number,
): void {
  if (values === undefined) recorder.dispatchGroups(positions, buffers, params, groups)
  else recorder.dispatchGroups(given, [values, ...buffers], params, groups)
}

async function createKernels(device: Device, strategy: Strategy, wide: boolean): Promise<Kernels> {
  const serial = strategy === 'serial'
  const module = serial ? 'primitives/serial-sort' : 'primitives/sort'
  const common = { module, params: 4 }
  const withValues = async (entryPoint: string, bindings: readonly Access[]): Promise<ValueKernels> => {
    const [given, positions] = await Promise.all([
      device.kernel({ ...common, entryPoint, bindings: ['read', ...bindings], conditions: { wide } }),
      device.kernel({
        ...common,
        entryPoint,
        firstBinding: 1,
        bindings,
        conditions: { wide, positions: true },
      }),
    ])
    return { given, positions }
  }
  const [countDigits, scatterTiles, sortTile] = await Promise.all([
    device.kernel({
      ...common,
      entryPoint: 'count_digits',
      firstBinding: 1,
      bindings: ['read', 'write'],
      conditions: { wide },
    }),
    withValues('scatter_tiles', ['read', 'write', 'write', serial ? 'write' : 'read']),
    serial ? undefined : withValues('sort_tile', ['read', 'write', 'write']),
  ])
  return { countDigits, scatterTiles, sortTile }
}
