import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { Plan, Runs } from '../batch/batch.js'
import { Count } from '../batch/counts.js'
import type { TreeShape } from '../layout.js'
import type { Outcome } from './resolve.js'

/** Decides what becomes of each run's tuple and payloads, and counts the tuples and extents that it takes. */
export class Planner {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #unique: boolean
  readonly #kernels: Kernels<'plan_runs'>

  constructor(device: Device, primitives: Primitives, shape: TreeShape, unique: boolean) {
    const conditions = { ...shape.conditions, serial: device.facts.software }
    this.#primitives = primitives
    this.#shape = shape
    this.#unique = unique
    this.#kernels = device.kernels('index/write/plan', ['plan_runs'], conditions)
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
    const buffers = {
      ...arena.bindings,
      starts: runs.starts,
      residents: runs.residents,
      runStates: outcome.runStates,
      aliveRanks: outcome.aliveRanks,
      creates: createRanks,
      extentWords: extentOffsets,
      actions,
      counts,
      longMoves,
    }
    recorder.dispatch(this.#kernels.plan_runs, buffers, { count, shape: this.#shape.word }, count)
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
