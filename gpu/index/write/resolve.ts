import { ResultCode, WriteOp } from '../../../protocol/types.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Items } from '../batch/items.js'
import type { BatchWork } from '../batch/work.js'
import type { TreeShape } from '../layout.js'

/** The code of most items of a kind; `resolve.wesl` has the same one. */
function usualCode(op: number): number {
  const deletes = op === WriteOp.deleteKey || op === WriteOp.deletePair
  return deletes ? ResultCode.deleted : ResultCode.inserted
}

/**
 * Settles what becomes of every item and run, without changing anything: result codes, a byte an item, in the order of the batch (`codes`;
 * none where all items are inserted); how many items before each sorted one will be in the index (`aliveRanks`); and the live existing payloads
 * that each run keeps (`runStates`).
 */
export class Resolver {
  readonly #primitives: Primitives
  readonly #kernels: Kernels<'accept_appends' | 'keep_existing' | 'resolve_runs' | 'pack_codes'>

  constructor(device: Device, primitives: Primitives, { conditions }: TreeShape) {
    const entryPoints = ['accept_appends', 'keep_existing', 'resolve_runs', 'pack_codes'] as const
    this.#primitives = primitives
    this.#kernels = device.kernels('index/write/resolve', entryPoints, conditions)
  }

  record(work: BatchWork, { appends, allAlive, hasPairs, op }: Items): void {
    const { count, recorder, scratch } = work
    const kernels = this.#kernels
    const aliveRanks = work.words('aliveRanks', count + 1)
    work.words('runStates')
    if (appends) work.dispatch(kernels.keep_existing)
    if (allAlive) {
      this.#primitives.iota(recorder, aliveRanks, count + 1)
      work.countTotal('aliveRanks', 'payloadsAdded')
      return
    }
    this.#primitives.fill(recorder, work.words('wideCodes'), count, usualCode(op))
    if (!hasPairs) work.words('pairLinks', 2)
    work.dispatch(appends ? kernels.accept_appends : kernels.resolve_runs)
    work.scanWithTotal('aliveRanks', 'payloadsAdded')
    work.buffers.codes = scratch.bytes(count)
    work.dispatch(kernels.pack_codes, Math.ceil(count / 4))
  }
}
