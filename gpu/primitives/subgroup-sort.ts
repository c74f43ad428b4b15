import type { Device, Kernels } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import type { KeyWords, Sort, SortedPairs, SortOptions } from './sort.js'
import { subgroupTile } from './strategy.js'
import { ValueKernel } from './value-kernels.js'

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
  readonly digits: Kernels<'count_digits' | 'scan_digits'>
  readonly scatterTiles: ValueKernel<'scatter_tiles'>
}

/** The kernels for one width of keys. */
interface WidthKernels {
  readonly sortRuns: ValueKernel<'sort_runs'>
  readonly runs: Kernels<'merge_runs'>
  readonly short: PassKernels
  readonly long: PassKernels
}

/**
 * The stable radix sort for GPUs whose subgroups have one size (`subgroup-sort.wesl`): three dispatches for each byte of the keys;
 * one or two altogether for few pairs (`sort-runs.wesl`).
 */
export class SubgroupSort implements Sort {
  readonly #runPairs: number
  /** With more tiles than this there are enough of them for every core, and long ones are better. */
  readonly #mostShortTiles: number
  readonly #kernels: Readonly<Record<KeyWords, WidthKernels>>

  constructor(device: Device) {
    this.#runPairs = subgroupTile(device, 'runs').invocations * ROUNDS.runs
    this.#mostShortTiles = subgroupTile(device, 'passes').invocations
    this.#kernels = { 1: widthKernels(device, false), 2: widthKernels(device, true) }
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
      const columns = { keys, sortedKeys: inRuns.keys, sortedValues: inRuns.values }
      kernels.sortRuns.dispatch(recorder, values, columns, { count, bits }, runs)
      if (runs > 1) {
        const merged = {
          runValues: inRuns.values,
          keys: inRuns.keys,
          sortedKeys: sorted.keys,
          sortedValues: sorted.values,
        }
        const groups = Math.ceil(count / MERGED_PAIRS)
        recorder.dispatchGroups(kernels.runs.merge_runs, merged, { count, bits }, groups)
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
  kernels: PassKernels,
  input: { readonly keys: GPUBuffer; readonly values: GPUBuffer | undefined },
  [first, second]: readonly [SortedPairs, SortedPairs],
  count: number,
  { from, bits }: { readonly from: number; readonly bits: number },
): SortedPairs {
  const tiles = Math.ceil(count / kernels.tile)
  const counted = Math.ceil(tiles / COUNTED_TILES)
  const counts = scratch.words(DIGITS * counted * COUNTED_TILES)
  const digitCounts = scratch.words(DIGITS)
  let [source, sorted, spare] = [input, first, second]
  for (let shift = from; shift < bits; shift += DIGIT_BITS) {
    const params = { count, tiles, shift, bits: Math.min(DIGIT_BITS, bits - shift) }
    const buffers = {
      keys: source.keys,
      sortedKeys: sorted.keys,
      sortedValues: sorted.values,
      counts,
      countsBefore: counts,
      digitCounts,
      knownDigitCounts: digitCounts,
    }
    recorder.dispatchGroups(kernels.digits.count_digits, buffers, params, counted)
    recorder.dispatchGroups(kernels.digits.scan_digits, buffers, params, DIGITS)
    kernels.scatterTiles.dispatch(recorder, source.values, buffers, params, tiles)
    ;[source, sorted, spare] = [sorted, spare, sorted]
  }
  return spare
}

function widthKernels(device: Device, wide: boolean): WidthKernels {
  const module = 'primitives/sort-runs'
  const conditions = { ...subgroupTile(device, 'runs').conditions, wide }
  const pass = (short: boolean): PassKernels => {
    const module = 'primitives/subgroup-sort'
    const { invocations, conditions } = subgroupTile(device, 'passes')
    const own = { ...conditions, wide, short_tiles: short }
    return {
      tile: invocations * (short ? ROUNDS.short : ROUNDS.long),
      digits: device.kernels(module, ['count_digits', 'scan_digits'], own),
      scatterTiles: new ValueKernel(device, module, 'scatter_tiles', own),
    }
  }
  return {
    sortRuns: new ValueKernel(device, module, 'sort_runs', conditions),
    runs: device.kernels(module, ['merge_runs'], conditions),
    short: pass(true),
    long: pass(false),
  }
}
