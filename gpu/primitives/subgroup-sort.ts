import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import {
  type KeyWords,
  pairBuffers,
  type Sort,
  type SortedPairs,
  type SortOptions,
  type UnsortedPairs,
} from './sort.js'
import { type Strategy, subgroupTile } from './strategy.js'

const DIGITS = 256
const DIGIT_BITS = 8

/** Pairs of an invocation in runs and in tiles of each length; `subgroup-rank.wesl` has the same numbers. */
const ROUNDS = { runs: 4, short: 4, long: 8 }
/** Tiles whose digits a workgroup counts. */
const COUNTED_TILES = 4

/** Runs that are merged at most: more would take longer than the passes of a radix sort. */
const MOST_RUNS = 32
/** Pairs of a workgroup that merges; `sort-runs.wesl` has the same number. */
const MERGED_PAIRS = 16

/** The kernels of a pass and their tile. */
interface PassKernels {
  readonly tile: number
  readonly kernels: Kernels<'count_digits' | 'scan_digits' | 'scatter_tiles'>
}

/** The kernels for one width of keys. */
interface WidthKernels {
  readonly runs: Kernels<'sort_runs' | 'merge_runs'>
  readonly short: PassKernels
  readonly long: PassKernels
}

/**
 * The stable radix sort for GPUs (`subgroup-sort.wesl`): three dispatches for each byte of the keys;
 * one or two altogether for few pairs (`sort-runs.wesl`).
 */
export class SubgroupSort implements Sort {
  readonly #runPairs: number
  /** With more tiles than this there are enough of them for every core, and long ones are better. */
  readonly #mostShortTiles: number
  readonly #kernels: Readonly<Record<KeyWords, WidthKernels>>

  constructor(device: Device, strategy: Strategy) {
    this.#runPairs = subgroupTile(device, 'runs', strategy).invocations * ROUNDS.runs
    this.#mostShortTiles = subgroupTile(device, 'passes', strategy).invocations
    this.#kernels = { 1: widthKernels(device, strategy, false), 2: widthKernels(device, strategy, true) }
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
    const sorted = allocate()
    if (count === 0) return sorted
    const runs = Math.ceil(count / this.#runPairs)
    if (runs <= MOST_RUNS && from === 0) {
      const inRuns = runs > 1 ? allocate() : sorted
      const { sort_runs: sortRuns, merge_runs: mergeRuns } = kernels.runs
      const params = { count, bits, positions: values === undefined ? 1 : 0 }
      recorder.dispatchGroups(sortRuns, pairBuffers({ keys, values }, inRuns), params, runs)
      if (runs > 1) {
        const groups = Math.ceil(count / MERGED_PAIRS)
        recorder.dispatchGroups(mergeRuns, pairBuffers(inRuns, sorted), params, groups)
      }
      return sorted
    }
    return recordPasses(
      recorder,
      scratch,
      count <= kernels.short.tile * this.#mostShortTiles ? kernels.short : kernels.long,
      { keys, values },
      [sorted, bits - from > DIGIT_BITS ? allocate() : sorted],
      count,
      { from, bits },
    )
  }
}

/** Sorts from one of two pairs of columns into the other, digit by digit. */
function recordPasses(
  recorder: Recorder,
  scratch: Scratch,
  { tile, kernels }: PassKernels,
  input: UnsortedPairs,
  [first, second]: readonly [SortedPairs, SortedPairs],
  count: number,
  { from, bits }: { readonly from: number; readonly bits: number },
): SortedPairs {
  const tiles = Math.ceil(count / tile)
  const counted = Math.ceil(tiles / COUNTED_TILES)
  const counts = scratch.words(DIGITS * counted * COUNTED_TILES)
  const digitCounts = scratch.words(DIGITS)
  let [source, sorted, spare] = [input, first, second]
  for (let shift = from; shift < bits; shift += DIGIT_BITS) {
    const pass = { count, tiles, shift, bits: Math.min(DIGIT_BITS, bits - shift) }
    const params = { ...pass, positions: source.values === undefined ? 1 : 0 }
    const buffers = {
      ...pairBuffers(source, sorted),
      counts,
      countsBefore: counts,
      digitCounts,
      knownDigitCounts: digitCounts,
    }
    recorder.dispatchGroups(kernels.count_digits, buffers, params, counted)
    recorder.dispatchGroups(kernels.scan_digits, buffers, params, DIGITS)
    recorder.dispatchGroups(kernels.scatter_tiles, buffers, params, tiles)
    ;[source, sorted, spare] = [sorted, spare, sorted]
  }
  return spare
}

function widthKernels(device: Device, strategy: Strategy, wide: boolean): WidthKernels {
  const pass = (short: boolean): PassKernels => {
    const { invocations, conditions } = subgroupTile(device, 'passes', strategy)
    const entryPoints = ['count_digits', 'scan_digits', 'scatter_tiles'] as const
    const own = { ...conditions, wide, short_tiles: short }
    return {
      tile: invocations * (short ? ROUNDS.short : ROUNDS.long),
      kernels: device.kernels('primitives/subgroup-sort', entryPoints, own),
    }
  }
  const { conditions } = subgroupTile(device, 'runs', strategy)
  return {
    runs: device.kernels('primitives/sort-runs', ['sort_runs', 'merge_runs'], { ...conditions, wide }),
    short: pass(true),
    long: pass(false),
  }
}
