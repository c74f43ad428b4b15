import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import type { KeyWords, Sort, SortedPairs, SortOptions } from './sort.js'
import { subgroupTile } from './strategy.js'
import { dispatchWithValues, type ValueKernels, withValues } from './value-kernels.js'

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
  readonly countDigits: Kernel
  readonly scanDigits: Kernel
  readonly scatterTiles: ValueKernels
}

/** The kernels for one width of keys. */
interface Kernels {
  readonly sortRuns: ValueKernels
  readonly mergeRuns: Kernel
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
  readonly #kernels: Readonly<Record<KeyWords, Kernels>>

  private constructor(
    runPairs: number,
    mostShortTiles: number,
    kernels: Readonly<Record<KeyWords, Kernels>>,
  ) {
    this.#runPairs = runPairs
    this.#mostShortTiles = mostShortTiles
    this.#kernels = kernels
  }

  static async create(device: Device): Promise<SubgroupSort> {
    const [narrow, wide] = await Promise.all([createKernels(device, 1), createKernels(device, 2)])
    const runPairs = subgroupTile(device, 'runs').invocations * ROUNDS.runs
    const mostShortTiles = subgroupTile(device, 'passes').invocations
    return new SubgroupSort(runPairs, mostShortTiles, { 1: narrow, 2: wide })
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
      dispatchWithValues(
        recorder,
        kernels.sortRuns,
        values,
        [keys, inRuns.keys, inRuns.values],
        [count, bits],
        runs,
      )
      if (runs > 1) {
        const buffers = [inRuns.values, inRuns.keys, sorted.keys, sorted.values]
        recorder.dispatchGroups(kernels.mergeRuns, buffers, [count, bits], Math.ceil(count / MERGED_PAIRS))
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
    const params = [count, tiles, shift, Math.min(DIGIT_BITS, bits - shift)]
    recorder.dispatchGroups(kernels.countDigits, [source.keys, counts], params, counted)
    recorder.dispatchGroups(kernels.scanDigits, [counts, digitCounts], params, DIGITS)
    const buffers = [source.keys, sorted.keys, sorted.values, counts, digitCounts]
    dispatchWithValues(recorder, kernels.scatterTiles, source.values, buffers, params, tiles)
    ;[source, sorted, spare] = [sorted, spare, sorted]
  }
  return spare
}

async function createKernels(device: Device, keyWords: KeyWords): Promise<Kernels> {
  const wide = keyWords === 2
  const runs = {
    module: 'primitives/sort-runs',
    params: 2,
    conditions: { ...subgroupTile(device, 'runs').conditions, wide },
  }
  const pass = (short: boolean) => {
    const { invocations, conditions } = subgroupTile(device, 'passes')
    const rounds = short ? ROUNDS.short : ROUNDS.long
    return createPass(device, invocations * rounds, { ...conditions, wide, short_tiles: short })
  }
  const [sortRuns, mergeRuns, short, long] = await Promise.all([
    withValues(device, { ...runs, entryPoint: 'sort_runs', bindings: ['read', 'write', 'write'] }),
    device.kernel({ ...runs, entryPoint: 'merge_runs', bindings: ['read', 'read', 'write', 'write'] }),
    pass(true),
    pass(false),
  ])
  return { sortRuns, mergeRuns, short, long }
}

async function createPass(
  device: Device,
  tile: number,
  conditions: Readonly<Record<string, boolean>>,
): Promise<PassKernels> {
  const common = { module: 'primitives/subgroup-sort', params: 4, conditions }
  const [countDigits, scanDigits, scatterTiles] = await Promise.all([
    device.kernel({ ...common, entryPoint: 'count_digits', firstBinding: 1, bindings: ['read', 'write'] }),
    device.kernel({
      ...common,
      entryPoint: 'scan_digits',
      bindings: [],
      further: [
        [2, 'write'],
        [5, 'write'],
      ],
    }),
    withValues(device, {
      ...common,
      entryPoint: 'scatter_tiles',
      bindings: ['read', 'write', 'write', 'read', 'read'],
    }),
  ])
  return { tile, countDigits, scanDigits, scatterTiles }
}
