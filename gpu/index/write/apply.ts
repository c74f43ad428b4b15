import type { Device } from '../../device/device.js'
import { GROUP_SIZE } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import { Count } from '../batch/counts.js'
import type { BatchWork } from '../batch/work.js'
import { newTupleConditions, type TreeShape } from '../layout.js'
import { LONG_LIST_GROUPS } from './settle.js'

/** Workgroups that go through the runs whose nodes were emptied, at most: they are few. */
const PRUNING_GROUPS = 512

/** Applies what was planned for the payloads of a batch, and takes out of the tree what has none left. */
export class Applier {
  readonly #shape: TreeShape
  readonly #unique: boolean
  readonly #kernels: ReturnType<typeof kernelsOf>

  constructor(device: Device, shape: TreeShape, payloadBytes: number, unique: boolean) {
    this.#shape = shape
    this.#unique = unique
    this.#kernels = kernelsOf(device, shape, payloadBytes)
  }

  /**
   * Creates tuples and puts payloads where the plan says.
   * @param totals the batch's counts
   * @param firstExtent where the new extents lie
   */
  recordPayloads(work: BatchWork, totals: Uint32Array, firstExtent: number): void {
    const { payloads, fixed } = this.#kernels
    const runs = totals[Count.runs]!
    const extentWords = totals[Count.extentWords]!
    const areNew = totals[Count.creates] === runs && extentWords === 0
    if (areNew && fixed !== undefined) {
      work.dispatch(fixed.write_new_tuples, runs, { ...work.params, count: runs })
      return
    }
    Object.assign(work.params, { firstExtent, extentWords })
    work.dispatch(payloads.apply_runs, runs)
    work.dispatchGroups(payloads.move_long, Math.min(totals[Count.longMoves]!, LONG_LIST_GROUPS))
    work.dispatch(payloads.write_items)
    if (!this.#unique) work.dispatch(payloads.finish_runs, runs)
  }

  /**
   * Takes tuples without payloads out of the tree, and the nodes that this empties, unless they are there for other lanes too.
   * @param runs how many runs the batch has; `emptied` has a word more than tuples go
   */
  recordRemovals(work: BatchWork, { sorted }: Arena, runs: number): void {
    const { fixed, variable } = this.#kernels
    const { partitionLevels, levels, conditions } = this.#shape
    if (sorted !== undefined) sorted.hasRemoved = true
    work.params.sorted = sorted?.tuples ?? 0
    work.params.partitionLevels = typeof partitionLevels === 'number' ? partitionLevels : 0
    if (variable !== undefined) work.dispatch(variable.unlink_tuples, runs)
    if (fixed === undefined) return
    work.dispatch(fixed.unlink_runs, runs)
    if (conditions.coalesced) return
    work.recorder.clear(work.column('emptied'), 0, 4)
    work.dispatch(fixed.list_emptied, runs)
    const groups = Math.min(Math.ceil(runs / GROUP_SIZE), PRUNING_GROUPS)
    for (let level = levels - 1; level > 0; level--) {
      work.params.level = level
      work.dispatchGroups(fixed.prune_level, groups)
    }
  }
}

function kernelsOf(device: Device, shape: TreeShape, payloadBytes: number) {
  const { conditions, form } = shape
  const removing = { ...conditions, expires: shape.hiddenWords > 0 }
  const payloads = ['apply_runs', 'move_long', 'write_items', 'finish_runs'] as const
  const removal = ['unlink_runs', 'list_emptied', 'prune_level'] as const
  const written = newTupleConditions(shape, payloadBytes)
  return {
    payloads: device.kernels('index/write/payloads', payloads, conditions),
    /** Over keys of fixed width: those for batches in which every run creates a tuple with a single payload, and those that remove. */
    fixed:
      form === undefined
        ? {
            ...device.kernels('index/write/new-tuples', ['write_new_tuples'], written),
            ...device.kernels('index/delta/remove', removal, removing),
          }
        : undefined,
    /** Over keys of variable length. */
    variable: form && device.kernels('index/delta/unlink', ['unlink_tuples'], removing),
  }
}
