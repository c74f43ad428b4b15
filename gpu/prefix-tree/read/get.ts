import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { GetResult } from '../../index-structure.js'
import type { Arena } from '../arena.js'
import { hasDirectory } from '../directory.js'
import { furtherBindings } from '../layout.js'
import type { NarrowPayloads } from './narrow-payloads.js'
import { bitmapBytes, type Queries, type ReadContext, TREE } from './read-context.js'

/** The first payload of each key. */
export class Get {
  readonly #context: ReadContext
  readonly #narrow: NarrowPayloads
  readonly #kernels: { readonly fromRoot: Kernel; readonly directed: Kernel | undefined }

  private constructor(
    context: ReadContext,
    narrow: NarrowPayloads,
    kernels: { fromRoot: Kernel; directed: Kernel | undefined },
  ) {
    this.#context = context
    this.#narrow = narrow
    this.#kernels = kernels
  }

  static async create(context: ReadContext, narrow: NarrowPayloads): Promise<Get> {
    const { device, tree } = context
    const serial = device.facts.software
    const kernel = (directed: boolean) =>
      device.kernel({
        module: 'prefix-tree/read/get',
        entryPoint: 'get_first',
        bindings: [...TREE, 'read', 'write', 'write', ...(directed ? (['read'] as const) : [])],
        further: furtherBindings(tree, 'tree'),
        params: 2,
        conditions: { ...tree.conditions, quads: tree.tupleStride === 4, serial, directed },
      })
    const [fromRoot, directed] = await Promise.all([
      kernel(false),
      hasDirectory(tree) ? kernel(true) : undefined,
    ])
    return new Get(context, narrow, { fromRoot, directed })
  }

  /** Looks `count` keys up that are on the device: a bit a key and a padded payload a key. */
  record(
    recorder: Recorder,
    arena: Arena,
    queries: Queries,
    found: GPUBuffer,
    payloads: GPUBuffer,
    count: number,
  ): void {
    const { device, tree } = this.#context
    const { directory } = arena
    const buffers = [...arena.buffers, queries.keys, found, payloads]
    const { fromRoot, directed } = this.#kernels
    const kernel = directory === undefined ? fromRoot : (directed ?? fromRoot)
    if (directory !== undefined) buffers.push(directory)
    buffers.push(...this.#context.further(arena, 'tree', queries))
    recorder.dispatch(
      kernel,
      buffers,
      [count, tree.word],
      device.facts.software ? Math.ceil(count / 32) : count,
    )
  }

  async run(arena: Arena, keys: Uint8Array, keyOffsets?: Uint32Array): Promise<GetResult> {
    const { payloadBytes, paddedBytes } = this.#context
    const count = this.#context.count(keys, keyOffsets)
    const [found, payloads] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.queries(recorder, scratch, keys, keyOffsets)
      const found = scratch.bytes(bitmapBytes(count))
      const padded = scratch.bytes(count * paddedBytes)
      this.record(recorder, arena, queries, found, padded, count)
      const column = this.#narrow.record(recorder, scratch, padded, count, payloadBytes)
      return [
        { buffer: found, bytes: bitmapBytes(count) },
        { buffer: column, bytes: count * payloadBytes },
      ]
    })
    return { found, payloads }
  }
}
