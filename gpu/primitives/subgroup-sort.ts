import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import { pairBuffers, type Sort, type SortedPairs, type UnsortedPairs } from './sort.js'
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

/**
 * The stable radix sort for GPUs (`subgroup-sort.wesl`): three dispatches for each byte of the keys;
 * one or two altogether for few pairs (`sort-runs.wesl`).
 */
export function subgroupSort(device: Device, strategy: Strategy): Sort {
  const runPairs = subgroupTile(device, 'runs', strategy).invocations * ROUNDS.runs
  // With more tiles than this there are enough of them for every core, and long ones are better.
  const mostShortTiles = subgroupTile(device, 'passes', strategy).invocations
  const kernelsByWidth = { 1: widthKernels(device, strategy, false), 2: widthKernels(device, strategy, true) }
  return (recorder, scratch, keys, values, count, keyWords, { bits = keyWords * 32, from = 0 } = {}) => {
    const { runs: runKernels, short, long } = kernelsByWidth[keyWords]
    const allocate = () => ({ keys: scratch.words(count * keyWords), values: scratch.words(count) })
    const input = { keys, values }
    const sorted = allocate()
    if (count === 0) return sorted
    const runs = Math.ceil(count / runPairs)
    if (runs > MOST_RUNS || from > 0) {
      const columns = [sorted, bits - from > DIGIT_BITS ? allocate() : sorted] as const
      const kernels = count <= short.tile * mostShortTiles ? short : long
      return recordPasses(recorder, scratch, kernels, input, columns, count, { from, bits })
    }
    const inRuns = runs > 1 ? allocate() : sorted
    const params = { count, bits, positions: values === undefined ? 1 : 0 }
    recorder.dispatchGroups(runKernels.sort_runs, pairBuffers(input, inRuns), params, runs)
    if (runs > 1) {
      const groups = Math.ceil(count / MERGED_PAIRS)
      recorder.dispatchGroups(runKernels.merge_runs, pairBuffers(inRuns, sorted), params, groups)
    }
    return sorted
  }
}

/** The kernels for one width of keys. */
function widthKernels(device: Device, strategy: Strategy, wide: boolean) {
  const pass = (short: boolean): PassKernels => {
    const { invocations, conditions } = subgroupTile(device, 'passes', strategy)
    const entryPoints = ['count_digits', 'scan_digits', 'scatter_tiles'] as const
    const own = { ...conditions, wide, short_tiles: short }
    return {
      tile: invocations * (short ? ROUNDS.short : ROUNDS.long),
      kernels: device.kernels('primitives/subgroup-sort', entryPoints, own),
    }
  }
  const conditions = { ...subgroupTile(device, 'runs', strategy).conditions, wide }
  return {
    runs: device.kernels('primitives/sort-runs', ['sort_runs', 'merge_runs'], conditions),
    short: pass(true),
    long: pass(false),
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
