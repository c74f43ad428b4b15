import type { DeviceColumn } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { GetNextRequest, GetNextResult } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import type { Ready } from '../partitions/locator.js'
import { keyColumns, recordKeys } from './key-columns.js'
import type { NarrowPayloads } from './narrow-payloads.js'
import { bitmapBytes, type ReadContext, TREE } from './read-context.js'

/** The entry after, or before, each position (Volk §2.1). */
export class GetNext {
  readonly #context: ReadContext
  readonly #narrow: NarrowPayloads
  readonly #kernel: Kernel
  /** For keys that were located before; only where trees have partitions. */
  readonly #located: Kernel | undefined

  private constructor(
    context: ReadContext,
    narrow: NarrowPayloads,
    kernel: Kernel,
    located: Kernel | undefined,
  ) {
    this.#context = context
    this.#narrow = narrow
    this.#kernel = kernel
    this.#located = located
  }

  static async create(context: ReadContext, narrow: NarrowPayloads): Promise<GetNext> {
    const bindings = [...TREE, 'read', 'write', 'write', 'write'] as const
    const kernel = (located: boolean) => {
      const all = located ? [...bindings, 'read' as const] : bindings
      return context.kernel('get-next', 'get_next', all, 4, 'ordered tree', { located })
    }
    const [fromRoot, located] = await Promise.all([kernel(false), context.locator && kernel(true)])
    return new GetNext(context, narrow, fromRoot, located)
  }

  /** @param ready how to find the positions' keys; one after the other down from the root without it */
  async run(arena: Arena, request: GetNextRequest, ready?: Ready): Promise<GetNextResult> {
    const { restorer } = this.#context
    const count = this.#context.count(request.keys, request.keyOffsets)
    const scratch = this.#context.device.scratch()
    try {
      const recorder = this.#context.device.record()
      const { known, records } = this.#record(recorder, scratch, arena, request, count, ready)
      if (restorer === undefined || arena.heap === undefined) {
        const keys = { buffer: records, bytes: count * this.#context.keyBytes }
        return resultOf(await this.#context.device.submitAndRead(recorder, [...known, keys]))
      }
      const found = { restorer, heap: arena.heap.buffer, records, most: count, live: undefined }
      const recorded = recordKeys(recorder, scratch, found)
      const starts = { buffer: recorded.starts.buffer, bytes: 4 * count }
      const columns = await this.#context.device.submitAndRead(recorder, [
        ...known,
        ...recorded.known,
        starts,
      ])
      const [bits, payloads, sequences, length, first, begins] = columns
      const { keys, keyOffsets } = await keyColumns(this.#context, scratch, found, [length!, first!], begins!)
      return { ...resultOf([bits!, payloads!, sequences!, keys]), keyOffsets }
    } finally {
      scratch.release()
    }
  }

  #record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    request: GetNextRequest,
    count: number,
    ready: Ready | undefined,
  ): { known: DeviceColumn[]; records: GPUBuffer } {
    const { device, tree, keyBytes, payloadBytes, paddedBytes, locator } = this.#context
    const queries = this.#context.queries(recorder, scratch, request.keys, request.keyOffsets)
    const records = scratch.bytes(count * keyBytes)
    const padded = scratch.bytes(count * paddedBytes)
    // Adapters may bind no more than a dozen buffers, so one holds several columns.
    const sequences = scratch.bytes(4 * count + bitmapBytes(count))
    if (request.sequences !== undefined) device.upload(sequences, request.sequences)
    const buffers = [...arena.buffers, queries.keys, sequences, records, padded]
    let kernel = this.#kernel
    if (ready !== undefined && this.#located !== undefined && locator !== undefined) {
      kernel = this.#located
      buffers.push(locator.record(recorder, scratch, arena, ready, queries, count, false).places)
    }
    recorder.dispatch(
      kernel,
      [...buffers, ...this.#context.further(arena, 'ordered tree', queries)],
      [count, tree.word, request.reverse ? 1 : 0, request.sequences === undefined ? 0 : 1],
      count,
    )
    const column = this.#narrow.record(recorder, scratch, padded, count, payloadBytes)
    const known = [
      { buffer: sequences, offset: 4 * count, bytes: bitmapBytes(count) },
      { buffer: column, bytes: count * payloadBytes },
      { buffer: sequences, bytes: 4 * count },
    ]
    return { known, records }
  }
}

function resultOf([found, payloads, sequences, keys]: readonly Uint8Array[]): GetNextResult {
  return { found: found!, keys: keys!, payloads: payloads!, sequences: sequences! }
}
