import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import { Arena, type ArenaContent, type ArenaNeed, type KeyHeaps, keyHeaps } from '../arena.js'
import type { FindOrder } from '../batch/batch.js'
import { COUNTS, Count } from '../batch/counts.js'
import type { Builder, NodePlan } from '../delta/build.js'
import { createBuilder } from '../delta/create-builder.js'
import type { TreeShape } from '../layout.js'
import { DirectoryBuilder } from '../main/directory.js'
import { type KeysToStore, KeyWriter } from './created-keys.js'
import { OrderLinker } from './order-links.js'

/** Lists that take a workgroup each are copied by this many workgroups at most, one list after the other. */
const LONG_LIST_GROUPS = 512

/** Called between expensive passes, with what is recorded: gives back what to go on recording with. */
export type Pace = (recorder: Recorder) => Promise<Recorder>

/** Leaves all passes in one submission. */
const together: Pace = async (recorder) => recorder

/** Rebuilds a tree from its own sorted order, without its garbage (design, "Delete"). */
export class Compactor {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  /** Undefined for CSS-trees, whose tuples all go to the sorted part. */
  readonly #builder: Builder | undefined
  readonly #directories: DirectoryBuilder | undefined
  readonly #keys: KeyWriter | undefined
  readonly #linker: OrderLinker | undefined
  readonly #kernels: Kernels<'measure_tuples' | 'copy_tuples' | 'copy_long'>

  constructor(device: Device, primitives: Primitives, shape: TreeShape) {
    const { css, linked } = shape.conditions
    const entryPoints = ['measure_tuples', 'copy_tuples', 'copy_long'] as const
    this.#device = device
    this.#primitives = primitives
    this.#shape = shape
    this.#builder = css ? undefined : createBuilder(device, primitives, shape)
    this.#directories = css ? new DirectoryBuilder(device, shape) : undefined
    this.#keys = shape.form && new KeyWriter(device, primitives, shape)
    this.#linker = linked ? new OrderLinker(device, shape) : undefined
    this.#kernels = device.kernels('index/write/compact', entryPoints, shape.conditions)
  }

  /**
   * A new arena with the live content of `arena`, which is left as it is.
   * @param tuples number of live tuples
   * @param findOrder finds the order of their keys
   * @param pace may submit what is recorded and wait, so that others get their turn
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async compact(
    arena: ArenaContent,
    tuples: number,
    findOrder: FindOrder,
    pace: Pace = together,
  ): Promise<Arena> {
    const scratch = this.#device.scratch()
    try {
      const plan = await this.#plan(scratch, arena, tuples, findOrder, pace)
      const compacted = await Arena.create(this.#device, this.#shape, plan.need, arena.allowance.bytes())
      compacted.allowance = arena.allowance
      try {
        await this.#copy(scratch, arena, compacted, plan, pace)
        return compacted
      } catch (error) {
        compacted.destroy()
        throw error
      }
    } finally {
      scratch.release()
    }
  }

  /** Finds the order of the tuples and what the new arena takes. */
  async #plan(
    scratch: Scratch,
    arena: ArenaContent,
    tuples: number,
    findOrder: FindOrder,
    pace: Pace,
  ): Promise<CopyPlan> {
    const { keyWords, word } = this.#shape
    const counts = scratch.words(COUNTS)
    this.#device.upload(counts, initialCounts(tuples))
    const { recorder, tuples: ordered } = await findOrder(this.#device.record(), scratch)
    let measuring = await pace(recorder)
    const entries = {
      bound: tuples,
      keys: scratch.words(tuples * keyWords),
      places: scratch.words(2 * tuples),
      entries: scratch.words(tuples),
    }
    const extentOffsets = scratch.words(tuples)
    // All keys lie in the old heap; there are none of a request.
    const heaps = keyHeaps(arena, scratch.words(1))
    const measured = {
      ...arena.bindings,
      ...heaps,
      order: ordered,
      keys: entries.keys,
      slots: entries.places,
      entryTuples: entries.entries,
      extentWords: extentOffsets,
    }
    measuring.dispatch(this.#kernels.measure_tuples, measured, { count: tuples, shape: word }, tuples)
    const total = { buffer: counts, index: Count.extentWords }
    this.#primitives.scan(measuring, scratch, extentOffsets, extentOffsets, tuples, total)
    measuring = await pace(measuring)
    const nodes = this.#builder?.plan(measuring, scratch, entries, counts, heaps, undefined)
    const source = arena.heap?.buffer
    const keys = source && this.#keys?.recordCount(measuring, scratch, entries.keys, source, tuples, counts)
    measuring.submit()
    await nodes?.complete?.()

    const totals = await this.#device.readWords(counts, COUNTS)
    const need = {
      nodes: totals[Count.nodes]!,
      tuples,
      extentWords: totals[Count.extentWords]!,
      keyWords: totals[Count.keyWords]!,
      sorted: tuples,
    }
    return { need, ordered, extentOffsets, counts, heaps, nodes, keys }
  }

  async #copy(
    scratch: Scratch,
    arena: ArenaContent,
    compacted: Arena,
    plan: CopyPlan,
    pace: Pace,
  ): Promise<void> {
    const { need, ordered, extentOffsets, counts, heaps, nodes, keys } = plan
    const { tuples, extentWords } = need
    const firstNode = compacted.takeNodes(need.nodes)
    const firstExtent = compacted.extents.take(extentWords)
    compacted.takeTuples(tuples)
    compacted.heap?.take(need.keyWords)
    const longCount = scratch.words(1)
    const longTuples = scratch.words(tuples)
    const buffers = {
      ...arena.bindings,
      tupleOrder: ordered,
      extentOffsets,
      newTuples: compacted.tuples.buffer,
      newExtents: compacted.extents.buffer,
      longCount,
      longTuples,
    }
    const params = { count: tuples, shape: this.#shape.word, firstExtent, extentWords }

    let copying: Recorder = this.#device.record()
    copying.clear(longCount, 0, 4)
    copying.dispatch(this.#kernels.copy_tuples, buffers, params, tuples)
    copying = await pace(copying)
    const longGroups = Math.min(tuples, LONG_LIST_GROUPS)
    if (extentWords > 0) copying.dispatchGroups(this.#kernels.copy_long, buffers, params, longGroups)
    if (keys !== undefined) {
      copying = await pace(copying)
      this.#keys?.record(copying, compacted, keys, counts, tuples, 0, 0)
    }
    copying = await pace(copying)
    nodes?.record(copying, compacted, tuples, firstNode, heaps)
    this.#linker?.recordInOrder(copying, compacted, tuples)
    this.#directories?.record(copying, compacted)
    copying = await pace(copying)
    copying.submit()
  }
}

/** What is known before the new arena is there. */
interface CopyPlan {
  readonly need: Required<ArenaNeed>
  /** The tuples of the old arena in key order. */
  readonly ordered: GPUBuffer
  readonly extentOffsets: GPUBuffer
  readonly counts: GPUBuffer
  readonly heaps: KeyHeaps
  readonly nodes: NodePlan | undefined
  readonly keys: KeysToStore | undefined
}

/** Counts of a batch that creates, and hangs into the tree, so many tuples. */
function initialCounts(tuples: number): Uint8Array {
  const counts = new Uint32Array(COUNTS)
  counts[Count.entries] = tuples
  counts[Count.creates] = tuples
  return new Uint8Array(counts.buffer)
}
