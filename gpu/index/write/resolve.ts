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
 * none where all items are inserted); how many items before each sorted one will be in the index (`aliveRanks`); and how many existing
 * payloads die in each run (`deaths`).
 */
export class Resolver {
  readonly #primitives: Primitives
  readonly #kernels: Kernels<'accept_appends' | 'resolve_runs'>

  constructor(device: Device, primitives: Primitives, { conditions }: TreeShape) {
    const entryPoints = ['accept_appends', 'resolve_runs'] as const
    this.#primitives = primitives
    this.#kernels = device.kernels('index/write/resolve', entryPoints, conditions)
  }

  record(work: BatchWork, { appends, allAlive, hasPairs, op }: Items): void {
    const { count, recorder, scratch } = work
    const kernels = this.#kernels
    const aliveRanks = work.words('aliveRanks', count + 1)
    const deaths = work.words('deaths')
    if (appends) recorder.clear(deaths, 0, 4 * count)
    if (allAlive) {
      this.#primitives.iota(recorder, aliveRanks, count + 1)
      work.countTotal('aliveRanks', 'payloadsAdded')
      return
    }
    const codes = scratch.bytes(count)
    work.buffers.codes = codes
    this.#primitives.fill(recorder, codes, Math.ceil(count / 4), 0x01010101 * usualCode(op))
    if (!hasPairs) work.words('pairLinks', 2)
    work.dispatch(appends ? kernels.accept_appends : kernels.resolve_runs)
    work.scanWithTotal('aliveRanks', 'payloadsAdded')
  }
}
