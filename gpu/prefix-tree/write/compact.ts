import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import { Builder } from './build.js'
import { COUNTS, Count } from './counts.js'

type Kernels = Readonly<Record<'measureTuples' | 'copyTuples' | 'copyLong', Kernel>>

/** Lists that take a workgroup each are copied by this many workgroups at most, one list after the other. */
const LONG_LIST_GROUPS = 512

/** Rebuilds a tree from its own sorted order, without its garbage (design, "Delete"). */
export class Compactor {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #builder: Builder
  readonly #kernels: Kernels

  private constructor(
    device: Device,
    primitives: Primitives,
    shape: TreeShape,
    builder: Builder,
    kernels: Kernels,
  ) {
    this.#device = device
    this.#primitives = primitives
    this.#shape = shape
    this.#builder = builder
    this.#kernels = kernels
  }

  static async create(device: Device, primitives: Primitives, shape: TreeShape): Promise<Compactor> {
    const common = {
      module: 'prefix-tree/write/compact',
      params: 4,
      conditions: { wide: shape.keyWords === 2 },
    }
    const copied = ['read', 'read', 'read', 'read', 'read', 'write', 'write', 'write', 'write'] as const
    const [builder, measureTuples, copyTuples, copyLong] = await Promise.all([
      Builder.create(device, primitives, shape),
      device.kernel({
        ...common,
        entryPoint: 'measure_tuples',
        bindings: ['read', 'read', 'read', 'read', 'write', 'write', 'write', 'write'],
      }),
      device.kernel({ ...common, entryPoint: 'copy_tuples', bindings: copied }),
      device.kernel({ ...common, entryPoint: 'copy_long', bindings: copied }),
    ])
    return new Compactor(device, primitives, shape, builder, { measureTuples, copyTuples, copyLong })
  }

  /**
   * A new arena with the live content of `arena`, which is left as it is.
   * @param tuples number of live tuples
   * @param order records their numbers in key order
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async compact(
    arena: Arena,
    tuples: number,
    order: (recorder: Recorder, scratch: Scratch) => GPUBuffer,
  ): Promise<Arena> {
    const scratch = this.#device.scratch()
    try {
      return await this.#compact(scratch, arena, tuples, order)
    } finally {
      scratch.release()
    }
  }

  async #compact(
    scratch: Scratch,
    arena: Arena,
    tuples: number,
    order: (recorder: Recorder, scratch: Scratch) => GPUBuffer,
  ): Promise<Arena> {
    const { measureTuples, copyTuples, copyLong } = this.#kernels
    const { keyWords, word } = this.#shape
    const measuring = this.#device.record()
    const counts = scratch.words(COUNTS)
    this.#device.upload(
      counts,
      new Uint8Array(new Uint32Array(COUNTS).fill(tuples, Count.entries, Count.entries + 1).buffer),
    )
    const ordered = order(measuring, scratch)
    const entries = {
      bound: tuples,
      keys: scratch.words(tuples * keyWords),
      slots: scratch.words(2 * tuples),
      tuples: scratch.words(tuples),
    }
    const extentOffsets = scratch.words(tuples)
    const measured = [ordered, entries.keys, entries.slots, entries.tuples, extentOffsets]
    measuring.dispatch(measureTuples, [...arena.buffers, ...measured], [tuples, word, 0, 0], tuples)
    const total = { buffer: counts, index: Count.extentWords }
    this.#primitives.scan(measuring, scratch, extentOffsets, extentOffsets, tuples, total)
    const nodes = this.#builder.recordCount(measuring, scratch, entries, counts)
    measuring.submit()

    const totals = await this.#device.readWords(counts, COUNTS)
    const extentWords = totals[Count.extentWords]!
    const nodeCount = totals[Count.nodes]!
    const longCount = scratch.words(1)
    const longTuples = scratch.words(tuples)
    const compacted = await Arena.create(this.#device, this.#shape, { nodes: nodeCount, tuples, extentWords })
    const firstNode = compacted.nodes.take(nodeCount)
    const firstExtent = compacted.extents.take(extentWords)
    compacted.tuples.take(tuples)

    const copying = this.#device.record()
    copying.clear(longCount, 0, 4)
    const target = [compacted.tuples.buffer, compacted.extents.buffer, longCount, longTuples]
    const buffers = [...arena.buffers, ordered, extentOffsets, ...target]
    const params = [tuples, word, firstExtent, extentWords]
    copying.dispatch(copyTuples, buffers, params, tuples)
    if (extentWords > 0) copying.dispatchGroups(copyLong, buffers, params, Math.min(tuples, LONG_LIST_GROUPS))
    this.#builder.recordBuild(copying, compacted.nodes.buffer, entries, nodes, tuples, firstNode)
    copying.submit()
    return compacted
  }
}
