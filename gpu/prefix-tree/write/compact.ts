import { DirectoryBuilder } from '../../css-tree/directory.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import { Arena, keyHeaps } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { Builder } from './build.js'
import { COUNTS, Count } from './counts.js'
import { createBuilder } from './create-builder.js'
import { KeyWriter } from './created-keys.js'
import { OrderLinker } from './order-links.js'

type Kernels = Readonly<Record<'measureTuples' | 'copyTuples' | 'copyLong', Kernel>>

/** Lists that take a workgroup each are copied by this many workgroups at most, one list after the other. */
const LONG_LIST_GROUPS = 512

/** A tree's tuples in ascending key order, and what to go on recording with. */
export interface TupleOrder {
  readonly recorder: Recorder
  readonly tuples: GPUBuffer
}

/** Finds the order of a tree's tuples. May submit what is recorded. */
export type FindOrder = (recorder: Recorder, scratch: Scratch) => Promise<TupleOrder>

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
  readonly #kernels: Kernels

  private constructor(
    device: Device,
    primitives: Primitives,
    shape: TreeShape,
    builder: Builder | undefined,
    directories: DirectoryBuilder | undefined,
    keys: KeyWriter | undefined,
    linker: OrderLinker | undefined,
    kernels: Kernels,
  ) {
    this.#device = device
    this.#primitives = primitives
    this.#shape = shape
    this.#builder = builder
    this.#directories = directories
    this.#keys = keys
    this.#linker = linker
    this.#kernels = kernels
  }

  static async create(device: Device, primitives: Primitives, shape: TreeShape): Promise<Compactor> {
    const common = {
      module: 'prefix-tree/write/compact',
      params: 4,
      conditions: shape.conditions,
    }
    const copied = ['read', 'read', 'read', 'read', 'read', 'write', 'write', 'write', 'write'] as const
    const { css } = shape.conditions
    const [builder, directories, keys, linker, measureTuples, copyTuples, copyLong] = await Promise.all([
      css ? undefined : createBuilder(device, primitives, shape),
      css ? DirectoryBuilder.create(device, shape) : undefined,
      shape.form === undefined ? undefined : KeyWriter.create(device, primitives, shape),
      shape.conditions.linked ? OrderLinker.create(device, shape) : undefined,
      device.kernel({
        ...common,
        entryPoint: 'measure_tuples',
        bindings: ['read', 'read', 'read', 'read', 'write', 'write', 'write', 'write'],
        further: furtherBindings(shape, 'keys'),
      }),
      device.kernel({ ...common, entryPoint: 'copy_tuples', bindings: copied }),
      device.kernel({ ...common, entryPoint: 'copy_long', bindings: copied }),
    ])
    const kernels = { measureTuples, copyTuples, copyLong }
    return new Compactor(device, primitives, shape, builder, directories, keys, linker, kernels)
  }

  /**
   * A new arena with the live content of `arena`, which is left as it is.
   * @param tuples number of live tuples
   * @param findOrder finds the order of their keys
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async compact(arena: Arena, tuples: number, findOrder: FindOrder): Promise<Arena> {
    const scratch = this.#device.scratch()
    try {
      return await this.#compact(scratch, arena, tuples, findOrder)
    } finally {
      scratch.release()
    }
  }

  async #compact(scratch: Scratch, arena: Arena, tuples: number, findOrder: FindOrder): Promise<Arena> {
    const { measureTuples, copyTuples, copyLong } = this.#kernels
    const { keyWords, word } = this.#shape
    const counts = scratch.words(COUNTS)
    this.#device.upload(counts, initialCounts(tuples))
    const { recorder: measuring, tuples: ordered } = await findOrder(this.#device.record(), scratch)
    const entries = {
      bound: tuples,
      keys: scratch.words(tuples * keyWords),
      places: scratch.words(2 * tuples),
      entries: scratch.words(tuples),
    }
    const extentOffsets = scratch.words(tuples)
    const measured = [ordered, entries.keys, entries.places, entries.entries, extentOffsets]
    // All keys lie in the old heap; there are none of a request.
    const heaps = keyHeaps(arena, scratch.words(1))
    measuring.dispatch(measureTuples, [...arena.buffers, ...measured, ...heaps], [tuples, word, 0, 0], tuples)
    const total = { buffer: counts, index: Count.extentWords }
    this.#primitives.scan(measuring, scratch, extentOffsets, extentOffsets, tuples, total)
    const nodes = this.#builder?.plan(measuring, scratch, entries, counts, heaps, undefined)
    const source = arena.heap?.buffer
    const keys = source && this.#keys?.recordCount(measuring, scratch, entries.keys, source, tuples, counts)
    measuring.submit()
    await nodes?.complete?.()

    const totals = await this.#device.readWords(counts, COUNTS)
    const extentWords = totals[Count.extentWords]!
    const nodeCount = totals[Count.nodes]!
    const longCount = scratch.words(1)
    const longTuples = scratch.words(tuples)
    const need = { nodes: nodeCount, tuples, extentWords, keyWords: totals[Count.keyWords]!, sorted: tuples }
    const compacted = await Arena.create(this.#device, this.#shape, need, arena.allowance())
    compacted.allowance = arena.allowance
    const firstNode = compacted.takeNodes(nodeCount)
    const firstExtent = compacted.extents.take(extentWords)
    compacted.takeTuples(tuples)
    compacted.heap?.take(need.keyWords)

    const copying = this.#device.record()
    copying.clear(longCount, 0, 4)
    const target = [compacted.tuples.buffer, compacted.extents.buffer, longCount, longTuples]
    const buffers = [...arena.buffers, ordered, extentOffsets, ...target]
    const params = [tuples, word, firstExtent, extentWords]
    copying.dispatch(copyTuples, buffers, params, tuples)
    if (extentWords > 0) copying.dispatchGroups(copyLong, buffers, params, Math.min(tuples, LONG_LIST_GROUPS))
    if (keys !== undefined) this.#keys?.record(copying, compacted, keys, counts, tuples, 0, 0)
    nodes?.record(copying, compacted, tuples, firstNode, heaps)
    this.#linker?.recordInOrder(copying, compacted, tuples)
    this.#directories?.record(copying, compacted)
    copying.submit()
    return compacted
  }
}

/** Counts of a batch that creates, and hangs into the tree, so many tuples. */
function initialCounts(tuples: number): Uint8Array {
  const counts = new Uint32Array(COUNTS)
  counts[Count.entries] = tuples
  counts[Count.creates] = tuples
  return new Uint8Array(counts.buffer)
}
