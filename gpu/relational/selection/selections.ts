import type { Device } from '../../device/device.js'
import type { DeviceWord } from '../../primitives/device-count.js'
import { type Strategy, strategyFor } from '../../primitives/strategy.js'
import type { DeviceWork } from '../query/device-work.js'
import type { QueryColumn } from '../query/query-column.js'
import { Emit } from './emit.js'
import { GeneratedKernels } from './generated-kernels.js'
import { type Entries, Mark, type Marked } from './mark.js'
import { type Predicate, PredicateBuilder } from './predicate.js'
import { selectionTile } from './selection-tile.js'
import type { Condition, KernelPlan, Selected, SelectionOutput, SelectionPlan } from './selection-types.js'

/** Rows that a selection begins from, such as those that an index gave: each once; the result keeps their order. */
export interface StartRows {
  readonly buffer: GPUBuffer
  readonly count: number
}

export interface RunOptions {
  /** The rows to begin from; all of them unless given. */
  readonly start?: StartRows | undefined
}

/** What kernels of a plan hand on: entries, and the columns that these are of. */
interface Rows extends Entries {
  readonly columns: readonly QueryColumn[]
}

/** Runs selections by their plans, with a kernel for each shape of a predicate (Sitaridi and Ross §3). */
export class Selections {
  readonly #mark: Mark
  readonly #emit: Emit

  private constructor(mark: Mark, emit: Emit) {
    this.#mark = mark
    this.#emit = emit
  }

  /** @param strategy the one that suits the device, unless given */
  static async create(device: Device, strategy: Strategy = strategyFor(device)): Promise<Selections> {
    const tile = selectionTile(device, strategy)
    const kernels = new GeneratedKernels(device)
    const emit = new Emit(kernels, tile, device.gpu.limits.maxStorageBuffersPerShaderStage)
    return new Selections(await Mark.create(device, kernels, tile), emit)
  }

  /**
   * The rows that satisfy all conditions of a plan.
   * @param columns that conditions and output mean by their numbers
   * @param rows of each column
   */
  async run(
    work: DeviceWork,
    columns: readonly QueryColumn[],
    rows: number,
    conditions: readonly Condition[],
    plan: SelectionPlan,
    output: SelectionOutput,
    { start }: RunOptions = {},
  ): Promise<Selected> {
    let state: Rows = { columns, bound: start?.count ?? rows, live: undefined, list: start?.buffer }
    const left: DeviceWord[] = []
    let marked: Marked | undefined
    for (const [i, kernel] of plan.kernels.entries()) {
      const predicates = this.#predicates(state, conditions, kernel)
      if (i === plan.kernels.length - 1 && output.kind === 'count') {
        left.push(await this.#mark.count(work, state, predicates))
        break
      }
      marked = await this.#mark.record(work, state, predicates)
      left.push(marked.total)
      if (i === plan.kernels.length - 1) break
      const { rows: list } = await this.#emit.record(work, state, marked, state.bound, true, [])
      state = { ...state, live: marked.total, list }
    }
    const counts = await work.read(left)
    const count = counts.at(-1)!
    if (output.kind === 'count') return { count, rows: undefined, columns: [], left: counts }
    const wanted = output.kind === 'columns' ? output.columns.map((number) => columns[number]!) : []
    const emitted = await this.#emit.record(work, state, marked!, count, output.kind === 'rows', wanted)
    return { count, ...emitted, left: counts }
  }

  #predicates({ columns, list }: Rows, conditions: readonly Condition[], kernel: KernelPlan): Predicate[] {
    const builder = new PredicateBuilder(columns)
    for (const group of kernel.groups) builder.addGroup(group.map((number) => conditions[number]!))
    return [builder.finish(list !== undefined)]
  }
}
