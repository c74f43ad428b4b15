import type { Device } from '../../device/device.js'
import { type Strategy, strategyFor } from '../../primitives/strategy.js'
import type { DeviceWork } from '../query/device-work.js'
import type { QueryColumn } from '../query/query-column.js'
import { DictionaryTexts } from './dictionary-texts.js'
import { Emit } from './emit.js'
import { Mark } from './mark.js'
import { type RunOptions, type SelectionParts, SelectionRun } from './selection-run.js'
import { selectionTile } from './selection-tile.js'
import type { Condition, Selected, SelectionOutput, SelectionPlan } from './selection-types.js'

export type { RunOptions, StartRows } from './selection-run.js'
export type { MatchBy } from './tests.js'

/** Runs selections by their plans, with a kernel for each shape of a predicate (Sitaridi and Ross §3). */
export class Selections {
  readonly #parts: SelectionParts

  /** @param strategy the one that suits the device, unless given */
  constructor(device: Device, strategy: Strategy = strategyFor(device)) {
    const tile = selectionTile(device, strategy)
    const mark = new Mark(device, tile)
    const emit = new Emit(tile, device.gpu.limits.maxStorageBuffersPerShaderStage)
    this.#parts = { mark, emit, texts: new DictionaryTexts(device) }
  }

  /**
   * The rows that satisfy all conditions of a plan. Kernels are recorded one behind the other, and what they have left is read once at the
   * end; only where much memory would be taken for rows that may not pass, the host waits to learn how many they are.
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

  /** Destroys what is kept on the device. Only those need it that do not last as long as the device. */
  destroy(): void {
    this.#parts.texts.destroy()
  }
}
