import { kernelTime } from '../../kernel-time.js'
import { pickKeys } from '../../keys.js'
import { leastAndMost, median, type Row, type Spread } from '../../report.js'
import { measureBlocks } from './blocks.js'
import { AnswerCheck } from './check.js'
import { Contest, orOmitted, type Result } from './contest.js'
import { DATA_SETS, type DataSet } from './data-sets.js'
import type { DeviceTools } from './device-subject.js'
import { HostSubject } from './host-subject.js'
import { NaiveSubject } from './naive-subject.js'
import { measureOperation } from './other-operations.js'
import type { Plan } from './plan.js'
import { measurePlanner } from './planner.js'
import { stagesOf } from './stages.js'
import type { Subject } from './subject.js'
import { CASES, LAYOUTS, type TreeCase, TreeSubject } from './tree-subject.js'

/** Figure 8 (a) to (f), and what the paper has none of: other operations by strategy, heights of blocks, and how good the planner's choices are. */
export const FIGURES = ['a', 'b', 'c', 'd', 'e', 'f', 'inserts', 'getNext', 'planner', 'blocks'] as const
export type Figure = (typeof FIGURES)[number]

/** One line of a figure: `figures` has a cell for each subject, which is a text where the cell was left out. */
export interface FigureRow extends Row {
  /** Keys of the index. */
  readonly keys: number
  /** Keys of a batch. */
  readonly batch: number
  /** Levels of a partition, in (d), or of a block. */
  readonly levels?: number
  /** What is measured, and in which unit. */
  readonly unit: string
  /** Of a cell that is the middle of repeats the least and the most of them. */
  readonly spread?: Spread
  /** The fewest repeats of a cell, and the clocks that they were measured by. */
  readonly repeats?: number
  readonly clocks?: readonly string[]
}

/** The repeats of a figure, or why there is none. */
type Cell = Result<number>

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
      case 'inserts':
      case 'getNext':
        return measureOperation(this.#tools, this.#plan, figure)
      case 'blocks':
        return measureBlocks(this.#tools, this.#plan)
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
        rows.push({ name, keys, batch, ...timingRow(cells.get(batch)!) })
      }
      console.log(`8${figure} ${set.name}: ${keys} keys measured`)
    }
    return rows
  }

  /** Figure 8 (d): single lookups in trees with partitions of other heights, beside those that have none. */
  async #heights(): Promise<FigureRow[]> {
    const keys = this.#largest
    const rows: FigureRow[] = []
    for (const levels of this.#plan.levels) {
      const cases = CASES.map((tree) =>
        tree.traversal.strategy === 'sequential'
          ? tree
          : { ...tree, layout: { ...tree.layout, partitionLevels: levels } },
      )
      const cells = await this.#cells(DATA_SETS.a, keys, this.#trees(cases), [1])
      const name = `8d ${DATA_SETS.a.name}, ${keys} keys, m = ${levels}`
      rows.push({ name, keys, batch: 1, levels, ...timingRow(cells.get(1)!) })
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
      rows.push({ name: `8e ${keys} keys`, keys, batch: 0, unit: 'bytes', figures })
    }
    return rows
  }

  /** Figure 8 (f): the stages of a request; and what an empty stretch of the device's time measures. */
  async #stages(): Promise<FigureRow[]> {
    const { batches, effort } = this.#plan
    const keys = this.#largest
    const column = DATA_SETS.a.keys(keys)
    const unit = 'microseconds'
    const rows: FigureRow[] = []
    const contest = await this.#contest(DATA_SETS.a, keys, [
      ...this.#trees(CASES),
      new NaiveSubject(this.#tools),
    ])
    for (const batch of new Set([1, batches[batches.length >> 1]!, batches.at(-1)!])) {
      const queries = pickKeys(column, keys, batch)
      const results = await contest.measure(
        batch,
        (loaded) => loaded.staging?.(queries),
        ({ kernel }) => kernel,
      )
      for (const [name, result] of results) {
        const cells = typeof result === 'string' ? { figures: { omitted: result } } : stagesOf(result.values)
        rows.push({ name: `8f ${name}, batch ${batch}`, keys, batch, unit, ...cells })
      }
    }
    contest.destroy()
    const { device, warm } = this.#tools
    const { microseconds, clock } = await warm.run(() => kernelTime(device, effort, () => {}))
    const figures = { 'nothing between two stamps': microseconds }
    rows.push({ name: '8f empty, batch 0', keys: 0, batch: 0, unit, clocks: [clock], figures })
    return rows
  }

  /** Times of every subject by batch. */
  async #cells(
    set: DataSet,
    count: number,
    subjects: readonly Subject[],
    batches: readonly number[],
  ): Promise<Map<number, Map<string, Cell>>> {
    const keys = set.keys(count)
    const contest = await this.#contest(set, count, subjects)
    const cells = new Map<number, Map<string, Cell>>()
    for (const batch of batches) {
      const queries = pickKeys(keys, count, batch * variants(batch))
      const results = await contest.measure(
        batch,
        (loaded) => loaded.timing(queries, batch),
        (microseconds) => microseconds,
      )
      cells.set(batch, results)
    }
    contest.destroy()
    return cells
  }

  /** Subjects that hold the first keys of a set, each checked. */
  #contest(set: DataSet, count: number, subjects: readonly Subject[]): Promise<Contest> {
    const check = new AnswerCheck(set, count)
    return Contest.load(this.#plan, subjects, set.keys(count), (loaded) => check.run(loaded))
  }
}

function variants(batch: number): number {
  return batch <= FEW_KEYS ? VARIANTS : 1
}

/** What of a row comes from its cells. */
function timingRow(
  cells: ReadonlyMap<string, Cell>,
): Pick<FigureRow, 'unit' | 'repeats' | 'clocks' | 'figures' | 'spread'> {
  const timings = [...cells].flatMap(([name, cell]) => (typeof cell === 'string' ? [] : [{ name, ...cell }]))
  return {
    unit: 'microseconds',
    repeats: Math.min(...timings.map(({ values }) => values.length)),
    clocks: [...new Set(timings.map(({ clock }) => clock))],
    figures: Object.fromEntries(
      [...cells].map(([name, cell]) => [name, typeof cell === 'string' ? cell : median(cell.values)]),
    ),
    spread: Object.fromEntries(timings.map(({ name, values }) => [name, leastAndMost(values)])),
  }
}
