import { WriteOp } from '../../../protocol/types.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { IndexShape } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { LeadingSort, Primitives, SortedPairs } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { PreparedBatch, WriteEffect } from '../batch/batch.js'
import type { Items } from '../batch/items.js'
import { type TreeShape, treeShape } from '../layout.js'
import type { RunMerge } from './merge-run.js'

/**
 * Makes a CSS-tree's sorted part from a batch of inserts, and from the sorted part that there is, in a few passes: sort, write, merge
 * (`bulk-build.wesl`; He §4.1). Only for unsigned keys that are all different; others take the way of every write.
 */
export class BulkBuild {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #payloadBytes: number
  readonly #merge: RunMerge
  readonly #leadingSort: LeadingSort
  readonly #kernels: Kernels<'find_duplicates' | 'write_tuples'>

  /** @param index one that `canBulkBuild` */
  constructor(device: Device, primitives: Primitives, index: IndexShape, merge: RunMerge) {
    const shape = treeShape(index)
    const { conditions, tupleStride, keyWords } = shape
    const inlined = isInlined(index.payloadBytes)
    const quads = tupleStride === 4
    const pairs = !quads && keyWords === 2 && index.payloadBytes === 8
    const paired = pairs || (quads && index.payloadBytes === 8)
    this.#device = device
    this.#primitives = primitives
    this.#shape = shape
    this.#payloadBytes = index.payloadBytes
    this.#merge = merge
    this.#leadingSort = primitives.leadingSort()
    this.#kernels = device.kernels('index/main/bulk-build', ['find_duplicates', 'write_tuples'], {
      ...conditions,
      inlined,
      quads,
      pairs,
      paired,
    })
  }

  /** Whether a batch may be what an empty tree is made from, or be merged with the sorted part at once. */
  suits(arena: Arena, items: Items): boolean {
    const { op, count, goesOn } = items
    return op === WriteOp.insert && (arena.tuples.records === 0 || this.#merge.suits(arena, count, goesOn))
  }

  /**
   * Prepares a batch that suits. Takes over `scratch` unless it returns nothing.
   * @returns undefined where keys are equal, or there is no room for a second sorted part
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async prepare(scratch: Scratch, arena: Arena, items: Items): Promise<PreparedBatch | undefined> {
    const { count, keys } = items
    if (!('fixed' in keys)) return undefined
    const { keyWords, word } = this.#shape
    const sorting = this.#device.record()
    const values = isInlined(this.#payloadBytes) ? items.payloads : undefined
    const flags = scratch.words(2)
    sorting.clear(flags, 0, 8)
    const unsettled = { buffer: flags, index: 1 }
    const sorted =
      items.leading === undefined
        ? this.#primitives.sort(sorting, scratch, keys.fixed, values, count, keyWords)
        : this.#leadingSort.record(sorting, scratch, keys.fixed, values, count, items.leading, unsettled)
    const buffers = { keys: sorted.keys, duplicates: flags }
    sorting.dispatch(this.#kernels.find_duplicates, buffers, { count, shape: word }, count)
    sorting.submit()
    const [duplicated, isUnsettled] = await this.#device.readWords(flags, 2)
    if (isUnsettled !== 0) return this.prepare(scratch, arena, { ...items, leading: undefined })
    if (duplicated !== 0) return undefined
    return arena.tuples.records === 0
      ? this.#prepareFirst(scratch, arena, items, sorted)
      : this.#prepareMerged(scratch, arena, items, sorted)
  }

  /** The batch becomes the sorted part. */
  async #prepareFirst(
    scratch: Scratch,
    arena: Arena,
    items: Items,
    sorted: SortedPairs,
  ): Promise<PreparedBatch> {
    const { count } = items
    await arena.reserve({ nodes: 0, tuples: count, extentWords: 0, sorted: count })
    const part = await arena.provideSorted(count)
    return {
      codes: new Uint8Array(count),
      effect: effectOf(count),
      apply: () => {
        try {
          const recorder = this.#device.record()
          this.#recordTuples(recorder, arena, items, sorted)
          recorder.submit()
          arena.takeTuples(count)
          arena.replaceSorted(part)
        } finally {
          scratch.release()
        }
      },
      discard: () => {
        part.destroy()
        scratch.release()
      },
    }
  }

  /**
   * All of the work is done here, beside the tree: where a key turns out to be in the index already it was for nothing. Between the logs
   * of two chunks of a load there is time for that.
   */
  async #prepareMerged(
    scratch: Scratch,
    arena: Arena,
    items: Items,
    sorted: SortedPairs,
  ): Promise<PreparedBatch | undefined> {
    const { count } = items
    await arena.reserve({ nodes: 0, tuples: count, extentWords: 0 })
    const room = await arena.merges.provide(arena, count, items.goesOn)
    if (room === undefined) return undefined
    try {
      const equal = scratch.words(1)
      const recorder = this.#device.record()
      recorder.clear(equal, 0, 4)
      this.#recordTuples(recorder, arena, items, sorted)
      this.#merge.record(recorder, arena, this.#merge.plan(scratch, room, equal))
      recorder.submit()
      const [isEqual] = await this.#device.readWords(equal, 1)
      if (isEqual !== 0) {
        arena.merges.giveBack(room)
        return undefined
      }
    } catch (error) {
      arena.merges.giveBack(room)
      throw error
    }
    return {
      codes: new Uint8Array(count),
      effect: effectOf(count),
      apply: () => {
        arena.merges.take(arena, room, items.goesOn)
        scratch.release()
      },
      discard: () => {
        arena.merges.giveBack(room)
        scratch.release()
      },
    }
  }

  /** Writes the batch's tuples behind those that there are. */
  #recordTuples(recorder: Recorder, arena: Arena, items: Items, sorted: SortedPairs): void {
    const { count, payloads } = items
    const { tuples } = arena
    const buffers = {
      keys: sorted.keys,
      values: sorted.values,
      payloadColumn: payloads,
      payloadPairs: payloads,
      tuples: tuples.buffer,
      quads: tuples.buffer,
      pairs: tuples.buffer,
    }
    const params = {
      count,
      shape: this.#shape.word,
      payloadBytes: this.#payloadBytes,
      firstTuple: tuples.records,
    }
    recorder.dispatch(this.#kernels.write_tuples, buffers, params, count)
  }
}

/** What a batch of different keys does that are not in the index. */
function effectOf(count: number): WriteEffect {
  return {
    tuplesCreated: count,
    tuplesRemoved: 0,
    payloadsAdded: count,
    payloadsRemoved: 0,
    garbageBytes: 0,
  }
}

/** Whether indexes of a shape can be made so. */
export function canBulkBuild({ keyType }: IndexShape): boolean {
  return keyType === 'u32' || keyType === 'u64'
}

/** Whether a payload is one word of a column, which the sort takes along. */
function isInlined(payloadBytes: number): boolean {
  return payloadBytes === 4
}
