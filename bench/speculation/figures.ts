import { toWarpdexError } from '../../protocol/errors.js'
import { type KeyBlob, pickKeys } from '../keys.js'
import type { Row } from '../report.js'
import { AnswerCheck } from './check.js'
import { DATA_SETS, type DataSet } from './data-sets.js'
import type { DeviceTools } from './device-subject.js'
import { HostSubject } from './host-subject.js'
import { kernelTime } from './kernel-time.js'
import { NaiveSubject } from './naive-subject.js'
import type { Plan } from './plan.js'
import { measurePlanner } from './planner.js'
import type { Loaded, Subject, Timing } from './subject.js'
import { CASES, LAYOUTS, type TreeCase, TreeSubject } from './tree-subject.js'

/** Figure 8 (a) to (f), and what the paper has none of: how good the planner's choices are. */
export const FIGURES = ['a', 'b', 'c', 'd', 'e', 'f', 'planner'] as const
export type Figure = (typeof FIGURES)[number]

/** One line of a figure: `figures` has a cell for each subject, which is a text where the cell was left out. */
export interface FigureRow extends Row {
  readonly figure: Figure
  /** Keys of the index. */
  readonly keys: number
  /** Keys of a batch. */
  readonly batch: number
  /** Levels of a partition, in (d). */
  readonly levels?: number
  /** What is measured, and in which unit. */
  readonly unit: string
  /** The fewest repeats of a cell, and the clocks that they were measured by. */
  readonly repeats?: number
  readonly clocks?: readonly string[]
}

/** A figure, or why there is none. */
type Cell = Timing | string

const FEW_KEYS = 1024

/** Repeats over small batches take turns with so many different ones, so that not always the same nodes are in the caches. */
const VARIANTS = 20

/** Repeats Figure 8 of Volk et al. */
export class Evaluation {
  readonly #tools: DeviceTools
  readonly #plan: Plan

  constructor(tools: DeviceTools, plan: Plan) {
    this.#tools = tools
    this.#plan = plan
  }

  async measure(figure: Figure): Promise<FigureRow[]> {
    switch (figure) {
      case 'a':
      case 'b':
      case 'c':
        return this.#lookups(figure)
      case 'd':
        return this.#heights()
      case 'e':
        return this.#memory()
      case 'f':
        return this.#stages()
      case 'planner':
        return measurePlanner(this.#tools, this.#plan)
    }
  }

  get #largest(): number {
    return this.#plan.sizes.at(-1)!
  }

  #trees(cases: readonly TreeCase[]): Subject[] {
    return cases.map((tree) => new TreeSubject(this.#tools, tree))
  }

  /** Figure 8 (a) to (c): time of a lookup by the number of keys, and by the number of keys of a batch. */
  async #lookups(figure: 'a' | 'b' | 'c'): Promise<FigureRow[]> {
    const { sizes, batchSizes, batches } = this.#plan
    const set = DATA_SETS[figure]
    const subjects = [...this.#trees(CASES), new NaiveSubject(this.#tools), new HostSubject()]
    const rows: FigureRow[] = []
    for (const keys of sizes) {
      const measured = batchSizes.includes(keys) ? batches : batches.slice(0, 1)
      const cells = await this.#cells(set, keys, subjects, measured)
      for (const batch of measured) {
        const name = `8${figure} ${set.name}, ${keys} keys, batch ${batch}`
        rows.push({ figure, name, keys, batch, ...timingRow(cells, batch) })
      }
      console.log(`8${figure} ${set.name}: ${keys} keys measured`)
    }
    return rows
  }

  /** Figure 8 (d): single lookups in trees with partitions of other heights, beside those that have none. */
  async #heights(): Promise<FigureRow[]> {
    const keys = this.#largest
    const isPartitioned = ({ traversal }: TreeCase) => traversal.strategy !== 'sequential'
    const references = this.#trees(CASES.filter((tree) => !isPartitioned(tree)))
    const unchanged = await this.#cells(DATA_SETS.a, keys, references, [1])
    const rows: FigureRow[] = []
    for (const levels of this.#plan.levels) {
      const cases = CASES.filter(isPartitioned).map((tree) => {
        return { ...tree, layout: { ...tree.layout, partitionLevels: levels } }
      })
      const changed = await this.#cells(DATA_SETS.a, keys, this.#trees(cases), [1])
      const name = `8d ${DATA_SETS.a.name}, ${keys} keys, m = ${levels}`
      rows.push({
        figure: 'd',
        name,
        keys,
        batch: 1,
        levels,
        ...timingRow(new Map([...unchanged, ...changed]), 1),
      })
    }
    return rows
  }

  /** Figure 8 (e): memory by the number of keys. */
  async #memory(): Promise<FigureRow[]> {
    const rows: FigureRow[] = []
    for (const keys of this.#plan.sizes) {
      const figures: Record<string, number | string> = {}
      for (const set of Object.values(DATA_SETS)) {
        const column = set.keys(keys)
        const trees = LAYOUTS.map((tree) => ({ ...tree, traversal: { strategy: 'sequential' } as const }))
        for (const subject of [...this.#trees(trees), new NaiveSubject(this.#tools)]) {
          figures[`${set.name}, ${subject.name}`] = await orOmitted(async () => {
            const loaded = await subject.load(column)
            const { bytes } = loaded
            loaded.destroy()
            return bytes
          })
        }
      }
      rows.push({ figure: 'e', name: `8e ${keys} keys`, keys, batch: 0, unit: 'bytes', figures })
    }
    return rows
  }

  /** Figure 8 (f): the stages of a request; and what an empty stretch of the device's time measures. */
  async #stages(): Promise<FigureRow[]> {
    const { batches, effort, mostSeconds } = this.#plan
    const keys = this.#largest
    const column = DATA_SETS.a.keys(keys)
    const unit = 'microseconds'
    const rows: FigureRow[] = []
    for (const subject of [...this.#trees(CASES), new NaiveSubject(this.#tools)]) {
      const loaded = await orOmitted(() => subject.load(column))
      if (typeof loaded === 'string') {
        rows.push({ figure: 'f', name: subject.name, keys, batch: 1, unit, figures: { loading: loaded } })
        continue
      }
      let last: TimedBatch | undefined
      for (const batch of new Set([1, batches[batches.length >> 1]!, batches.at(-1)!])) {
        const queries = pickKeys(column, keys, batch)
        if (expectedSeconds(last, batch) > mostSeconds) continue
        const single = await orOmitted(() => loaded.time(queries, batch, { repeats: 1, seconds: 0 }))
        if (typeof single === 'string' || single.microseconds > mostSeconds * 1e6) continue
        last = { batch, microseconds: single.microseconds }
        const stages = await loaded.stages?.(queries, effort)
        if (stages === undefined) continue
        rows.push({ figure: 'f', name: subject.name, keys, batch, unit, figures: { ...stages } })
      }
      loaded.destroy()
    }
    const { microseconds, clock } = await kernelTime(this.#tools.device, effort, () => {})
    const empty = { 'nothing between two stamps': microseconds }
    rows.push({ figure: 'f', name: 'empty', keys: 0, batch: 0, unit, clocks: [clock], figures: empty })
    return rows.map((row) => ({ ...row, name: `8f ${row.name}, batch ${row.batch}` }))
  }

  /** Times of every subject by batch. Each is on the device alone, and is checked before it is timed. */
  async #cells(
    set: DataSet,
    count: number,
    subjects: readonly Subject[],
    batches: readonly number[],
  ): Promise<Map<string, Map<number, Cell>>> {
    const keys = set.keys(count)
    const queries = new Map(
      batches.map((batch) => [batch, pickKeys(keys, count, batch * variants(batch))] as const),
    )
    const check = new AnswerCheck(set, count)
    const cells = new Map<string, Map<number, Cell>>()
    for (const subject of subjects) {
      const loaded = await orOmitted(() => subject.load(keys))
      if (typeof loaded === 'string') {
        cells.set(subject.name, new Map(batches.map((batch) => [batch, loaded])))
        continue
      }
      await check.run(loaded)
      cells.set(subject.name, await this.#timeBatches(loaded, queries))
      loaded.destroy()
    }
    return cells
  }

  async #timeBatches(loaded: Loaded, queries: ReadonlyMap<number, KeyBlob>): Promise<Map<number, Cell>> {
    const { effort, mostSeconds } = this.#plan
    const cells = new Map<number, Cell>()
    let last: TimedBatch | undefined
    for (const [batch, keys] of queries) {
      const expected = expectedSeconds(last, batch)
      if (expected > mostSeconds) {
        cells.set(batch, `omitted: about ${expected.toPrecision(2)} s`)
        continue
      }
      const cell = await orOmitted(() => loaded.time(keys, batch, effort))
      if (typeof cell !== 'string') last = { batch, microseconds: cell.microseconds }
      cells.set(batch, cell)
    }
    return cells
  }
}

interface TimedBatch {
  readonly batch: number
  readonly microseconds: number
}

/** What a batch would take that takes as long for each query as one that was measured. */
function expectedSeconds(last: TimedBatch | undefined, batch: number): number {
  return last === undefined ? 0 : ((last.microseconds / last.batch) * batch) / 1e6
}

function variants(batch: number): number {
  return batch <= FEW_KEYS ? VARIANTS : 1
}

/** What of a row comes from the cells of one batch. */
function timingRow(
  cells: ReadonlyMap<string, ReadonlyMap<number, Cell>>,
  batch: number,
): Pick<FigureRow, 'unit' | 'repeats' | 'clocks' | 'figures'> {
  const all = [...cells].map(([name, byBatch]) => [name, byBatch.get(batch)!] as const)
  const timings = all.flatMap(([, cell]) => (typeof cell === 'string' ? [] : [cell]))
  return {
    unit: 'microseconds',
    repeats: Math.min(...timings.map(({ repeats }) => repeats)),
    clocks: [...new Set(timings.map(({ clock }) => clock))],
    figures: Object.fromEntries(
      all.map(([name, cell]) => [name, typeof cell === 'string' ? cell : cell.microseconds]),
    ),
  }
}

/** What is too large for the device is left out, and the row says why. */
async function orOmitted<T>(measure: () => Promise<T>): Promise<T | string> {
  try {
    return await measure()
  } catch (error) {
    const { code, message } = toWarpdexError(error)
    if (code !== 'OUT_OF_DEVICE_MEMORY' && code !== 'TOO_LARGE') throw error
    return `omitted: ${message}`
  }
}
