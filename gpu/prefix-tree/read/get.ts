import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { GetResult } from '../../index-structure.js'
import type { Arena } from '../arena.js'
import type { NarrowPayloads } from './narrow-payloads.js'
import { bitmapBytes, type ReadContext, TREE } from './read-context.js'

/** The first payload of each key. */
export class Get {
  readonly #context: ReadContext
  readonly #narrow: NarrowPayloads
  readonly #kernels: { readonly fromRoot: Kernel; readonly directed: Kernel }

  private constructor(
    context: ReadContext,
    narrow: NarrowPayloads,
    kernels: { fromRoot: Kernel; directed: Kernel },
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
        params: 2,
        conditions: { wide: tree.keyWords === 2, quads: tree.tupleStride === 4, serial, directed },
      })
    const [fromRoot, directed] = await Promise.all([kernel(false), kernel(true)])
    return new Get(context, narrow, { fromRoot, directed })
  }

  /** Looks `count` keys up that are on the device: a bit a key and a padded payload a key. */
  record(
    recorder: Recorder,
    arena: Arena,
    queries: GPUBuffer,
    found: GPUBuffer,
    payloads: GPUBuffer,
    count: number,
  ): void {
    const { device, tree } = this.#context
    const { directory } = arena
    const buffers = [...arena.buffers, queries, found, payloads]
    const kernel = directory === undefined ? this.#kernels.fromRoot : this.#kernels.directed
    if (directory !== undefined) buffers.push(directory)
    recorder.dispatch(
      kernel,
      buffers,
      [count, tree.word],
      device.facts.software ? Math.ceil(count / 32) : count,
    )
  }

  async run(arena: Arena, keys: Uint8Array): Promise<GetResult> {
    const { keyBytes, payloadBytes, paddedBytes } = this.#context
    const count = keys.byteLength / keyBytes
    const [found, payloads] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.upload(scratch, keys)
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
