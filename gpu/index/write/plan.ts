import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import { Count } from './counts.js'
import type { Outcome } from './resolve.js'
import type { Runs } from './runs.js'

/** What is to be done for each run; `plan.wesl` defines the actions. */
export interface Plan {
  readonly actions: GPUBuffer
  /** Created tuples before each run; one word more than there are items. */
  readonly createRanks: GPUBuffer
  /** Words of new extents before each run. */
  readonly extentOffsets: GPUBuffer
  readonly longMoves: GPUBuffer
}

/** Decides what becomes of each run's tuple and payloads, and counts the tuples and extents that it takes. */
export class Planner {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #unique: boolean
  readonly #planRuns: Kernel

  private constructor(primitives: Primitives, shape: TreeShape, unique: boolean, planRuns: Kernel) {
    this.#primitives = primitives
    this.#shape = shape
    this.#unique = unique
    this.#planRuns = planRuns
  }

  static async create(
    device: Device,
    primitives: Primitives,
    shape: TreeShape,
    unique: boolean,
  ): Promise<Planner> {
    const planRuns = await device.kernel({
      module: 'index/write/plan',
      entryPoint: 'plan_runs',
      firstBinding: 1,
      bindings: [
        ...(['write', 'write', 'read', 'read', 'read', 'read'] as const),
        ...(['write', 'write', 'write', 'write', 'write'] as const),
      ],
      params: 2,
      conditions: { ...shape.conditions, serial: device.facts.software },
    })
    return new Planner(primitives, shape, unique, planRuns)
  }

  record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    runs: Runs,
    outcome: Outcome,
    count: number,
    counts: GPUBuffer,
  ): Plan {
    const createRanks = scratch.words(count + 1)
    const extentOffsets = scratch.words(count)
    const actions = scratch.words(count)
    const longMoves = scratch.words(count)
    const inputs = [runs.starts, runs.residents, outcome.runStates, outcome.aliveRanks]
    const outputs = [createRanks, extentOffsets, actions, counts, longMoves]
    const buffers = [arena.tuples.buffer, arena.extents.buffer, ...inputs, ...outputs]
    recorder.dispatch(this.#planRuns, buffers, [count, this.#shape.word], count)
    const total = { buffer: createRanks, index: count }
    this.#primitives.scan(recorder, scratch, createRanks, createRanks, count, total)
    recorder.copy(createRanks, count * 4, counts, Count.creates * 4, 4)
    if (!this.#unique) {
      const words = { buffer: counts, index: Count.extentWords }
      this.#primitives.scan(recorder, scratch, extentOffsets, extentOffsets, count, words)
    }
    return { actions, createRanks, extentOffsets, longMoves }
  }
}
