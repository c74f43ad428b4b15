import { ResultCode, WriteOp } from '../../../protocol/types.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { Runs } from '../batch/batch.js'
import { Count } from '../batch/counts.js'
import type { Items } from '../batch/items.js'
import type { TreeShape } from '../layout.js'
import type { Pairs } from './pairs.js'

/** The code of most items of a kind; `resolve.wesl` has the same one. */
function usualCode(op: number): number {
  const deletes = op === WriteOp.deleteKey || op === WriteOp.deletePair
  return deletes ? ResultCode.deleted : ResultCode.inserted
}

/** What becomes of every item and run. */
export interface Outcome {
  /** Result codes, a byte an item, in the order of the batch; none where all items are inserted. */
  readonly codes: GPUBuffer | undefined
  /** Items before each sorted item whose payload will be in the index; `count` + 1 words. */
  readonly aliveRanks: GPUBuffer
  /** Live residents that each run keeps, or that it keeps none. */
  readonly runStates: GPUBuffer
}

/** Settles a batch's outcome without changing anything. */
export class Resolver {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #payloadBytes: number
  readonly #kernels: Kernels<'accept_appends' | 'keep_residents' | 'resolve_runs' | 'pack_codes'>

  constructor(device: Device, primitives: Primitives, shape: TreeShape, payloadBytes: number) {
    const entryPoints = ['accept_appends', 'keep_residents', 'resolve_runs', 'pack_codes'] as const
    this.#primitives = primitives
    this.#shape = shape
    this.#payloadBytes = payloadBytes
    this.#kernels = device.kernels('index/write/resolve', entryPoints, shape.conditions)
  }

  record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    items: Items,
    runs: Runs,
    pairs: Pairs | undefined,
    counts: GPUBuffer,
  ): Outcome {
    const { count } = items
    const kernels = this.#kernels
    const params = {
      count,
      shape: this.#shape.word,
      payloadBytes: this.#payloadBytes,
      op: items.op,
      hasPairs: pairs === undefined ? 0 : 1,
    }
    const aliveRanks = scratch.words(count + 1)
    const runStates = scratch.words(count)
    if (items.appends) {
      const kept = { ...arena.bindings, runTuples: runs.residents, counts, states: runStates }
      recorder.dispatch(kernels.keep_residents, kept, params, count)
    }
    if (items.allAlive) {
      this.#primitives.iota(recorder, aliveRanks, count + 1)
      recorder.copy(aliveRanks, count * 4, counts, Count.payloadsAdded * 4, 4)
      return { codes: undefined, aliveRanks, runStates }
    }
    const wideCodes = scratch.words(count)
    this.#primitives.fill(recorder, wideCodes, count, usualCode(items.op))
    if (items.appends) {
      const buffers = {
        runsOf: runs.runsOf,
        tupleOf: runs.residents,
        itemOrder: runs.order,
        aliveOut: aliveRanks,
        codesOut: wideCodes,
      }
      recorder.dispatch(kernels.accept_appends, buffers, params, count)
    } else {
      const buffers = {
        ...arena.bindings,
        payloadColumn: items.payloads,
        starts: runs.starts,
        residents: runs.residents,
        order: runs.order,
        ops: items.ops,
        links: pairs?.links ?? scratch.words(2),
        alive: aliveRanks,
        codes: wideCodes,
        runStates,
        totals: counts,
      }
      recorder.dispatch(kernels.resolve_runs, buffers, params, count)
    }
    this.#primitives.scan(recorder, scratch, aliveRanks, aliveRanks, count, {
      buffer: aliveRanks,
      index: count,
    })
    recorder.copy(aliveRanks, count * 4, counts, Count.payloadsAdded * 4, 4)
    const codes = scratch.bytes(count)
    recorder.dispatch(kernels.pack_codes, { wideCodes, packed: codes }, params, Math.ceil(count / 4))
    return { codes, aliveRanks, runStates }
  }
}
