import type { Kernel } from '../../device/kernel.js'
import type { GetNextRequest, GetNextResult } from '../../index-structure.js'
import type { Arena } from '../arena.js'
import type { NarrowPayloads } from './narrow-payloads.js'
import { bitmapBytes, type ReadContext, TREE } from './read-context.js'

/** The entry after, or before, each position (Volk §2.1). */
export class GetNext {
  readonly #context: ReadContext
  readonly #narrow: NarrowPayloads
  readonly #kernel: Kernel

  private constructor(context: ReadContext, narrow: NarrowPayloads, kernel: Kernel) {
    this.#context = context
    this.#narrow = narrow
    this.#kernel = kernel
  }

  static async create(context: ReadContext, narrow: NarrowPayloads): Promise<GetNext> {
    const bindings = [...TREE, 'read', 'read', 'write', 'write', 'write', 'write'] as const
    return new GetNext(context, narrow, await context.kernel('get-next', 'get_next', bindings, 4))
  }

  async run(arena: Arena, request: GetNextRequest): Promise<GetNextResult> {
    const { tree, keyBytes, payloadBytes, paddedBytes } = this.#context
    const count = request.keys.byteLength / keyBytes
    const [found, keys, payloads, sequences] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.upload(scratch, request.keys)
      const after = this.#context.upload(scratch, request.sequences)
      const found = scratch.bytes(bitmapBytes(count))
      const keys = scratch.bytes(count * keyBytes)
      const padded = scratch.bytes(count * paddedBytes)
      const sequences = scratch.words(count)
      recorder.dispatch(
        this.#kernel,
        [...arena.buffers, queries, after, found, keys, padded, sequences],
        [count, tree.word, request.reverse ? 1 : 0, request.sequences === undefined ? 0 : 1],
        count,
      )
      const column = this.#narrow.record(recorder, scratch, padded, count, payloadBytes)
      return [
        { buffer: found, bytes: bitmapBytes(count) },
        { buffer: keys, bytes: count * keyBytes },
        { buffer: column, bytes: count * payloadBytes },
        { buffer: sequences, bytes: 4 * count },
      ]
    })
    return { found, keys, payloads, sequences }
  }
}
