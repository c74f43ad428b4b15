import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { Plan, Runs } from '../batch/batch.js'
import type { Items } from '../batch/items.js'
import type { TreeShape } from '../layout.js'
import type { Outcome } from './resolve.js'

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

/** Creates tuples and puts payloads where the plan says. */
export class PayloadWriter {
  readonly #shape: TreeShape
  readonly #payloadBytes: number
  readonly #unique: boolean
  readonly #kernels: Kernels<'apply_runs' | 'move_long' | 'write_items' | 'finish_runs'>

  constructor(device: Device, shape: TreeShape, payloadBytes: number, unique: boolean) {
    const entryPoints = ['apply_runs', 'move_long', 'write_items', 'finish_runs'] as const
    this.#shape = shape
    this.#payloadBytes = payloadBytes
    this.#unique = unique
    this.#kernels = device.kernels('index/write/payloads', entryPoints, shape.conditions)
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
    const kernels = this.#kernels
    const { count } = items
    const { firstTuple, firstExtent, extentWords, movedFrom } = totals
    const params = {
      count,
      shape: this.#shape.word,
      payloadBytes: this.#payloadBytes,
      firstTuple,
      firstExtent,
      extentWords,
    }
    const tree = arena.bindings
    const applied = {
      ...tree,
      keys: runs.keys,
      starts: runs.starts,
      actions: plan.actions,
      createRanks: plan.createRanks,
      extentOffsets: plan.extentOffsets,
      counts,
      residents: runs.residents,
      movedFrom,
    }
    recorder.dispatch(kernels.apply_runs, applied, params, totals.runs)
    const moved = {
      ...tree,
      longRuns: plan.longMoves,
      totals: counts,
      runTuples: runs.residents,
      oldLinks: movedFrom,
    }
    recorder.dispatchGroups(kernels.move_long, moved, params, Math.min(totals.longMoves, LONG_MOVE_GROUPS))
    const written = {
      ...tree,
      payloadColumn: items.payloads,
      runsOf: runs.runsOf,
      runStarts: runs.starts,
      order: runs.order,
      aliveRanks: outcome.aliveRanks,
      runActions: plan.actions,
      targets: runs.residents,
    }
    recorder.dispatch(kernels.write_items, written, params, count)
    if (this.#unique) return
    const finished = {
      ...tree,
      firstItems: runs.starts,
      ranks: outcome.aliveRanks,
      done: plan.actions,
      owners: runs.residents,
      runCount: counts,
    }
    recorder.dispatch(kernels.finish_runs, finished, params, totals.runs)
  }
}
