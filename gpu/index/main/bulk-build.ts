import { WriteOp } from '../../../protocol/types.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { IndexShape } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import { type PreparedBatch, preparedBatch } from '../batch/batch.js'
import type { Items } from '../batch/items.js'
import { BatchSort, type SortedKeys } from '../batch/sort.js'
import { newTupleConditions, type TreeShape, treeShape } from '../layout.js'
import { NOTHING } from '../totals.js'
import type { RunMerge } from './merge-run.js'

/** Words of what is found out about a sorted batch; `bulk-build.wesl` says what the first two are. */
const FLAGS = 3
const UNSETTLED = 2

/**
 * Makes a CSS-tree's sorted part from a batch of inserts, and from the sorted part that there is, in a few passes: sort, write, merge
 * (`bulk-build.wesl`; He §4.1). Only for keys that are all different; others take the way of every write.
 */
export class BulkBuild {
  readonly #device: Device
  readonly #shape: TreeShape
  readonly #payloadBytes: number
  readonly #merge: RunMerge
  readonly #sort: BatchSort
  readonly #kernels: Kernels<'check_keys' | 'write_tuples'>

  /** @param index one over keys of fixed width */
  constructor(device: Device, primitives: Primitives, index: IndexShape, merge: RunMerge) {
    const shape = treeShape(index)
    const { payloadBytes } = index
    const conditions = { ...newTupleConditions(shape, payloadBytes), inlined: isInlined(payloadBytes) }
    this.#device = device
    this.#shape = shape
    this.#payloadBytes = payloadBytes
    this.#merge = merge
    this.#sort = new BatchSort(device, primitives, shape)
    this.#kernels = device.kernels('index/main/bulk-build', ['check_keys', 'write_tuples'], conditions)
  }

  /** Whether a batch may be what an empty tree is made from, or be put behind the sorted part or merged with it at once. */
  suits(arena: Arena, { op, count, goesOn, isSorted }: Items): boolean {
    if (op !== WriteOp.insert) return false
    if (arena.tuples.records === 0) return true
    return (isSorted && this.#merge.isPossible(arena)) || this.#merge.suits(arena, count, goesOn)
  }

  /**
   * Prepares a batch that suits. Takes over `scratch` unless it returns nothing.
   * @returns undefined where keys are equal or NaN, or there is no room for a second sorted part
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async prepare(scratch: Scratch, arena: Arena, items: Items): Promise<PreparedBatch | undefined> {
    const { count, goesOn, isSorted } = items
    const flags = scratch.words(FLAGS)
    const recorder = this.#device.record()
    recorder.clear(flags, 0, 4 * FLAGS)
    const unsettled = { buffer: flags, index: UNSETTLED }
    const values = isInlined(this.#payloadBytes) ? items.payloads : undefined
    const sorted = await this.#sort.sort(recorder, scratch, items, unsettled, values)
    const buffers = { ...arena.bindings, keys: sorted.keys, flags }
    const params = { count, shape: this.#shape.word, payloadBytes: 0, firstTuple: arena.tuples.records }
    recorder.dispatch(this.#kernels.check_keys, buffers, params, count)
    recorder.submit()
    const [isUnfit, isBelow, isUnsettled] = await this.#device.readWords(flags, FLAGS)
    if (isUnsettled !== 0) return this.prepare(scratch, arena, { ...items, leading: undefined })
    if (isUnfit !== 0) return undefined
    if (isBelow === 0) return this.#prepareBehind(scratch, arena, items, sorted)
    if (isSorted && !this.#merge.suits(arena, count, goesOn)) return undefined
    return this.#prepareMerged(scratch, arena, items, sorted)
  }

  /** The batch becomes the sorted part, or what is behind it. */
  async #prepareBehind(
    scratch: Scratch,
    arena: Arena,
    items: Items,
    keys: SortedKeys,
  ): Promise<PreparedBatch> {
    const { count, coming } = items
    const all = arena.tuples.records + count
    const makeRoom = async (more: number) => {
      await arena.reserve({ nodes: 0, tuples: count + more, extentWords: 0, sorted: all + more })
      return arena.roomForSorted(all, all + more)
    }
    const room = await makeRoom(coming).catch(() => makeRoom(0))
    return preparedBatch(scratch, created(count), room, () => {
      const recorder = this.#device.record()
      this.#recordTuples(recorder, arena, items, keys)
      recorder.submit()
      arena.takeTuples(count)
    })
  }

  /**
   * All of the work is done here, beside the tree: where a key turns out to be in the index already it was for nothing. Between the logs
   * of two chunks of a load there is time for that.
   */
  async #prepareMerged(
    scratch: Scratch,
    arena: Arena,
    items: Items,
    keys: SortedKeys,
  ): Promise<PreparedBatch | undefined> {
    const { count, goesOn } = items
    await arena.reserve({ nodes: 0, tuples: count, extentWords: 0, isTight: true })
    const room = await arena.merges.provide(count, goesOn)
    if (room === undefined) return undefined
    try {
      const equal = scratch.words(1)
      const recorder = this.#device.record()
      recorder.clear(equal, 0, 4)
      this.#recordTuples(recorder, arena, items, keys)
      this.#merge.record(recorder, arena, this.#merge.plan(scratch, room.merged, equal))
      recorder.submit()
      const [isEqual] = await this.#device.readWords(equal, 1)
      if (isEqual === 0) return preparedBatch(scratch, created(count), room)
    } catch (error) {
      room.giveBack()
      throw error
    }
    room.giveBack()
    return undefined
  }

  /** Writes the batch's tuples behind those that there are. */
  #recordTuples(recorder: Recorder, arena: Arena, items: Items, { keys, order }: SortedKeys): void {
    const { count, payloads } = items
    const columns = { keys, values: order, payloadColumn: payloads, payloadPairs: payloads }
    const firstTuple = arena.tuples.records
    const params = { count, shape: this.#shape.word, payloadBytes: this.#payloadBytes, firstTuple }
    recorder.dispatch(this.#kernels.write_tuples, { ...arena.bindings, ...columns }, params, count)
  }
}

/** What becomes of a batch of different keys that are not in the index. */
function created(count: number): Pick<PreparedBatch, 'codes' | 'change'> {
  return { codes: new Uint8Array(count), change: { ...NOTHING, keys: count, payloads: count } }
}

/** Whether a payload is one word of a column, which the sort takes along. */
function isInlined(payloadBytes: number): boolean {
  return payloadBytes === 4
}
