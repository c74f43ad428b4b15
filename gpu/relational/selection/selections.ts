import type { Device } from '../../device/device.js'
import { type Strategy, strategyFor } from '../../primitives/strategy.js'
import type { DeviceWork } from '../query/device-work.js'
import type { QueryColumn } from '../query/query-column.js'
import { DictionaryTexts } from './dictionary-texts.js'
import { Emit } from './emit.js'
import { GeneratedKernels } from './generated-kernels.js'
import { Mark } from './mark.js'
import { MatchConditions } from './match-conditions.js'
import { Predicates } from './predicates.js'
import { type RunOptions, type SelectionParts, SelectionRun } from './selection-run.js'
import { type SelectionWorkgroup, selectionTile } from './selection-tile.js'
import type { Condition, Selected, SelectionOutput, SelectionPlan } from './selection-types.js'

export type { MatchBy } from './match-conditions.js'
export type { RunOptions, StartRows } from './selection-run.js'

/** Runs selections by their plans, with a kernel for each shape of a predicate (Sitaridi and Ross §3). */
export class Selections {
  readonly #parts: SelectionParts

  private constructor(parts: SelectionParts) {
    this.#parts = parts
  }

  /**
   * @param strategy the one that suits the device, unless given
   * @param workgroup see `selectionTile`
   */
  static async create(
    device: Device,
    strategy: Strategy = strategyFor(device),
    workgroup: SelectionWorkgroup = 256,
  ): Promise<Selections> {
    const tile = selectionTile(device, strategy, workgroup)
    const kernels = new GeneratedKernels(device)
    const mark = await Mark.create(device, kernels, tile)
    return new Selections({
      mark,
      emit: new Emit(kernels, tile, device.gpu.limits.maxStorageBuffersPerShaderStage),
      predicates: new Predicates(mark),
      matches: new MatchConditions(new DictionaryTexts(device), mark),
    })
  }

  /**
   * The rows that satisfy all conditions of a plan. Kernels are recorded one behind the other, and what they have left is read once at the
   * end; only before an expression is evaluated the host waits to learn for how many rows.
   * @param columns that conditions and output mean by their numbers
   * @param rows of each column
   * @param plan of one kernel at least; each condition is in one of them
   */
  run(
    work: DeviceWork,
    columns: readonly QueryColumn[],
    rows: number,
    conditions: readonly Condition[],
    plan: SelectionPlan,
    output: SelectionOutput,
    options: RunOptions = {},
  ): Promise<Selected> {
    const request = { columns, rows, conditions, plan, output, options }
    return new SelectionRun(this.#parts, work, request).run()
  }
}
