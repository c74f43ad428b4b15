import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { scatteredKeys } from '../../keys.js'
import { median, type Row, spreadOf } from '../../report.js'
import { splitCheck } from './key-parts.js'
import {
  type CheckedWork,
  checkedTimes,
  isExactly,
  type PrimitiveBench,
  rate,
  uploadWords,
} from './primitive-bench.js'
import { GRID_INVOCATIONS, type GridInvocations, ThreadGrid } from './thread-grid.js'
import { countersFit, ThreadSplit } from './thread-split.js'

/** Numbers of workgroups of Figure 8, as long as there is a word for each invocation: the paper has up to 512, for 16 multiprocessors. */
const FEWEST_GROUPS = 16
const GROUPS = {
  full: [FEWEST_GROUPS, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192],
  quick: [FEWEST_GROUPS, 64, 256],
}
/** Invocations of each, a warp of the paper's GPU. */
const FIGURE_8_INVOCATIONS = 32
/** What ends the split's line, as it does in the paper. */
const NO_ROOM = 'counters of as many threads do not fit workgroup memory'
const BYTES_PER_KEY = 8

type Primitive = 'map' | 'split'

/**
 * He's Figures 8 and 9: map and split of one column, coalesced and with counters in workgroup memory, by more and more workgroups of 32
 * invocations, and then by workgroups of different sizes, as many as were best. The split is the paper's, with counters for
 * every thread.
 */
export async function benchThreadCounts(bench: PrimitiveBench): Promise<Row[]> {
  const { device, logarithm, quick } = bench
  const scratch = device.scratch()
  const keys = new Uint32Array(scatteredKeys(1, 0, 2 ** logarithm).buffer)
  const threads = new ThreadCounts(
    bench,
    keys,
    uploadWords(device, scratch, keys),
    scratch.words(keys.length),
  )
  const figure8: Row[] = []
  const best = {
    map: { µs: Number.POSITIVE_INFINITY, groups: 1 },
    split: { µs: Number.POSITIVE_INFINITY, groups: 1 },
  }
  const hasWords = (groups: number) =>
    groups === FEWEST_GROUPS || groups * FIGURE_8_INVOCATIONS <= keys.length
  for (const groups of GROUPS[quick ? 'quick' : 'full'].filter(hasWords)) {
    const taken = await threads.times(['map', 'split'], groups, FIGURE_8_INVOCATIONS)
    for (const primitive of ['map', 'split'] as const) {
      const µs = median(taken[primitive])
      if (µs < best[primitive].µs) best[primitive] = { µs, groups }
    }
    figure8.push({
      name: `Figure 8, ${groups} × ${FIGURE_8_INVOCATIONS}, 2^${logarithm}`,
      figures: {
        workgroups: groups,
        ...threads.figures('map', taken.map),
        ...threads.figures('split', taken.split),
      },
    })
  }
  const figure9: Row[] = []
  const most = device.gpu.limits.maxComputeInvocationsPerWorkgroup
  for (const primitive of ['map', 'split'] as const) {
    const { groups } = best[primitive]
    for (const invocations of GRID_INVOCATIONS.filter((number) => number <= most)) {
      const name = `Figure 9, ${primitive} by ${groups} × ${invocations}, 2^${logarithm}`
      if (primitive === 'split' && !countersFit(device, invocations)) {
        figure9.push({ name, figures: { invocations, 'split µs': NO_ROOM } })
        continue
      }
      const taken = await threads.times([primitive], groups, invocations)
      figure9.push({ name, figures: { invocations, ...threads.figures(primitive, taken[primitive]) } })
    }
  }
  scratch.release()
  return [...figure8, ...figure9]
}

class ThreadCounts {
  readonly #bench: PrimitiveBench
  readonly #keys: Uint32Array
  readonly #source: DeviceMemory
  readonly #output: DeviceMemory
  readonly #checks: Readonly<Record<Primitive, CheckedWork['check']>>

  constructor(bench: PrimitiveBench, keys: Uint32Array, source: DeviceMemory, output: DeviceMemory) {
    this.#bench = bench
    this.#keys = keys
    this.#source = source
    this.#output = output
    this.#checks = {
      map: isExactly(
        'map',
        keys.map((key) => Math.imul(3, key) + 1),
      ),
      split: splitCheck('split', keys),
    }
  }

  /** Microseconds of each run. */
  async times(
    primitives: readonly Primitive[],
    groups: number,
    invocations: GridInvocations,
  ): Promise<Record<Primitive, number[]>> {
    const works: CheckedWork[] = []
    for (const primitive of primitives) {
      works.push({
        name: primitive,
        record: await this.#recording(primitive, groups, invocations),
        check: this.#checks[primitive],
        words: this.#keys.length,
        output: this.#output,
      })
    }
    const taken = await checkedTimes(this.#bench, works)
    const timesOf = (primitive: Primitive) => taken[primitives.indexOf(primitive)] ?? []
    return { map: timesOf('map'), split: timesOf('split') }
  }

  figures(primitive: Primitive, microseconds: readonly number[]): Record<string, number> {
    return {
      ...spreadOf(`${primitive} µs`, microseconds),
      [`${primitive} GB/s`]: rate(BYTES_PER_KEY * this.#keys.length, median(microseconds)),
    }
  }

  async #recording(
    primitive: Primitive,
    groups: number,
    invocations: GridInvocations,
  ): Promise<CheckedWork['record']> {
    const { device, primitives } = this.#bench
    const [source, output, count] = [this.#source, this.#output, this.#keys.length]
    const shape = { invocations, coalesced: true }
    if (primitive === 'map') {
      const threads = new ThreadGrid(device, shape)
      return (recorder) => {
        threads.recordMap(recorder, groups, source, output, count)
        return output
      }
    }
    const split = new ThreadSplit(device, primitives, { ...shape, workgroupMemory: true })
    return (recorder, scratch) => {
      split.record(recorder, scratch, groups, source, output, count)
      return output
    }
  }
}
