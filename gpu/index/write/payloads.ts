import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import type { Items } from './items.js'
import type { Plan } from './plan.js'
import type { Outcome } from './resolve.js'
import type { Runs } from './runs.js'

/** What the host knows and has once a batch's need was read back. */
export interface PayloadTotals {
  readonly runs: number
  readonly longMoves: number
  readonly extentWords: number
  /** A word an item where there are long moves, to remember what is moved. */
  readonly movedFrom: GPUBuffer
  readonly firstTuple: number
  readonly firstExtent: number
}

/** Lists that take a workgroup each are moved by this many workgroups at most, one list after the other. */
const LONG_MOVE_GROUPS = 512

type Kernels = Readonly<Record<'applyRuns' | 'moveLong' | 'writeItems' | 'finishRuns', Kernel>>

/** Creates tuples and puts payloads where the plan says. */
export class PayloadWriter {
  readonly #shape: TreeShape
  readonly #payloadBytes: number
  readonly #unique: boolean
  readonly #kernels: Kernels

  private constructor(shape: TreeShape, payloadBytes: number, unique: boolean, kernels: Kernels) {
    this.#shape = shape
    this.#payloadBytes = payloadBytes
    this.#unique = unique
    this.#kernels = kernels
  }

  static async create(
    device: Device,
    shape: TreeShape,
    payloadBytes: number,
    unique: boolean,
  ): Promise<PayloadWriter> {
    const common = {
      module: 'index/write/payloads',
      firstBinding: 1,
      params: 6,
      conditions: shape.conditions,
    }
    const [applyRuns, moveLong, writeItems, finishRuns] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'apply_runs',
        bindings: ['write', 'write', 'read', 'read', 'read', 'read', 'read', 'read', 'write', 'write'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'move_long',
        bindings: ['write', 'write', 'read', 'read', 'read', 'read'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'write_items',
        bindings: ['write', 'write', 'read', 'read', 'read', 'read', 'read', 'read', 'read'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'finish_runs',
        bindings: ['write', 'write', 'read', 'read', 'read', 'read', 'read'],
      }),
    ])
    return new PayloadWriter(shape, payloadBytes, unique, { applyRuns, moveLong, writeItems, finishRuns })
  }

  record(
    recorder: Recorder,
    arena: Arena,
    items: Items,
    runs: Runs,
    outcome: Outcome,
    plan: Plan,
    counts: GPUBuffer,
    totals: PayloadTotals,
  ): void {
    const { applyRuns, moveLong, writeItems, finishRuns } = this.#kernels
    const { count } = items
    const { firstTuple, firstExtent, extentWords, movedFrom } = totals
    const params = [count, this.#shape.word, this.#payloadBytes, firstTuple, firstExtent, extentWords]
    const tree = [arena.tuples.buffer, arena.extents.buffer]

    const applied = [runs.keys, runs.starts, plan.actions, plan.createRanks, plan.extentOffsets, counts]
    recorder.dispatch(applyRuns, [...tree, ...applied, runs.residents, movedFrom], params, totals.runs)
    const moved = [...tree, plan.longMoves, counts, runs.residents, movedFrom]
    recorder.dispatchGroups(moveLong, moved, params, Math.min(totals.longMoves, LONG_MOVE_GROUPS))
    const written = [items.payloads, runs.runsOf, runs.starts, runs.order, outcome.aliveRanks, plan.actions]
    recorder.dispatch(writeItems, [...tree, ...written, runs.residents], params, count)
    if (this.#unique) return
    const finished = [runs.starts, outcome.aliveRanks, plan.actions, runs.residents, counts]
    recorder.dispatch(finishRuns, [...tree, ...finished], params, totals.runs)
  }
}
