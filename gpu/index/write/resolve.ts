import { ResultCode, WriteOp } from '../../../protocol/types.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import { Count } from './counts.js'
import type { Items } from './items.js'
import type { Pairs } from './pairs.js'
import type { Runs } from './runs.js'

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

type Kernels = Readonly<Record<'acceptAppends' | 'keepResidents' | 'resolveRuns' | 'packCodes', Kernel>>

/** Settles a batch's outcome without changing anything. */
export class Resolver {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #payloadBytes: number
  readonly #kernels: Kernels

  private constructor(primitives: Primitives, shape: TreeShape, payloadBytes: number, kernels: Kernels) {
    this.#primitives = primitives
    this.#shape = shape
    this.#payloadBytes = payloadBytes
    this.#kernels = kernels
  }

  static async create(
    device: Device,
    primitives: Primitives,
    shape: TreeShape,
    payloadBytes: number,
  ): Promise<Resolver> {
    const common = {
      module: 'index/write/resolve',
      params: 5,
      conditions: shape.conditions,
    }
    const [acceptAppends, keepResidents, resolveRuns, packCodes] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'accept_appends',
        bindings: ['read', 'read', 'read', 'write', 'write'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'keep_residents',
        firstBinding: 1,
        bindings: ['write', 'write', 'read', 'read', 'write'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'resolve_runs',
        firstBinding: 1,
        bindings: [
          ...(['write', 'write', 'read', 'read', 'read', 'read', 'read'] as const),
          ...(['write', 'write', 'write', 'write', 'read'] as const),
        ],
      }),
      device.kernel({ ...common, entryPoint: 'pack_codes', bindings: ['read', 'write'] }),
    ])
    return new Resolver(primitives, shape, payloadBytes, {
      acceptAppends,
      keepResidents,
      resolveRuns,
      packCodes,
    })
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
    const params = [count, this.#shape.word, this.#payloadBytes, items.op, pairs === undefined ? 0 : 1]
    const aliveRanks = scratch.words(count + 1)
    const runStates = scratch.words(count)
    const tree = [arena.tuples.buffer, arena.extents.buffer]
    if (items.appends) {
      recorder.dispatch(kernels.keepResidents, [...tree, runs.residents, counts, runStates], params, count)
    }
    if (items.allAlive) {
      this.#primitives.iota(recorder, aliveRanks, count + 1)
      recorder.copy(aliveRanks, count * 4, counts, Count.payloadsAdded * 4, 4)
      return { codes: undefined, aliveRanks, runStates }
    }
    const wideCodes = scratch.words(count)
    this.#primitives.fill(recorder, wideCodes, count, usualCode(items.op))
    if (items.appends) {
      const buffers = [runs.runsOf, runs.residents, runs.order, aliveRanks, wideCodes]
      recorder.dispatch(kernels.acceptAppends, buffers, params, count)
    } else {
      const inputs = [items.payloads, runs.starts, runs.residents, runs.order, items.ops]
      const links = pairs?.links ?? scratch.words(2)
      const buffers = [...tree, ...inputs, links, aliveRanks, wideCodes, runStates, counts]
      recorder.dispatch(kernels.resolveRuns, buffers, params, count)
    }
    this.#primitives.scan(recorder, scratch, aliveRanks, aliveRanks, count, {
      buffer: aliveRanks,
      index: count,
    })
    recorder.copy(aliveRanks, count * 4, counts, Count.payloadsAdded * 4, 4)
    const codes = scratch.bytes(count)
    recorder.dispatch(kernels.packCodes, [wideCodes, codes], params, Math.ceil(count / 4))
    return { codes, aliveRanks, runStates }
  }
}
