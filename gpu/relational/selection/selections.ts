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
import { type SelectionWorkgroup, selectionTile, selectionWorkgroups } from './selection-tile.js'
import type { Condition, Selected, SelectionOutput, SelectionPlan } from './selection-types.js'

export type { MatchBy } from './match-conditions.js'
export type { RunOptions, StartRows } from './selection-run.js'

/** Runs selections by their plans, with a kernel for each shape of a predicate (Sitaridi and Ross §3). */
export class Selections {
  readonly #device: Device
  /** By the workgroups of their kernels; the first are those of a device that was not measured. */
  readonly #parts: ReadonlyMap<number, SelectionParts>

  readonly #texts: DictionaryTexts

  private constructor(device: Device, parts: ReadonlyMap<number, SelectionParts>, texts: DictionaryTexts) {
    this.#device = device
    this.#parts = parts
    this.#texts = texts
  }

  /**
   * @param strategy the one that suits the device, unless given
   * @param workgroup see `selectionTile`; the one that was measured to be the fastest, unless given
   */
  static async create(
    device: Device,
    strategy: Strategy = strategyFor(device),
    workgroup?: SelectionWorkgroup,
  ): Promise<Selections> {
    const kernels = new GeneratedKernels(device)
    const texts = new DictionaryTexts(device)
    const parts = new Map<number, SelectionParts>()
    const workgroups = workgroup === undefined ? selectionWorkgroups(device, strategy) : [workgroup]
    for (const each of workgroups) {
      const tile = selectionTile(device, strategy, each)
      const mark = await Mark.create(device, kernels, tile)
      parts.set(tile.invocations, {
        mark,
        emit: new Emit(kernels, tile, device.gpu.limits.maxStorageBuffersPerShaderStage),
        predicates: new Predicates(mark),
        matches: new MatchConditions(texts, mark),
      })
    }
    return new Selections(device, parts, texts)
  }

  /**
   * The rows that satisfy all conditions of a plan. Kernels are recorded one behind the other, and what they have left is read once at the
   * end; only before an expression is evaluated, and where much memory would be taken for rows that may not pass, the host waits to learn how
   * many they are.
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
    return new SelectionRun(this.#chosenParts(), work, request).run()
  }

  /** Destroys what is kept on the device. Only those need it that do not last as long as the device. */
  destroy(): void {
    this.#texts.destroy()
    for (const { mark } of this.#parts.values()) mark.destroy()
  }

  #chosenParts(): SelectionParts {
    const measured = this.#parts.get(this.#device.selectionCosts?.workgroup ?? 0)
    return measured ?? this.#parts.values().next().value!
  }
}
