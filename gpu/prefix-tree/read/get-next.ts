import type { DeviceColumn } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { GetNextRequest, GetNextResult } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import type { Ready } from '../locate/locator.js'
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
    const bindings = [...TREE, 'read', 'read', 'write', 'write', 'write', 'write'] as const
    const kernel = (located: boolean) => {
      const all = located && !context.tree.conditions.variable ? [...bindings, 'read' as const] : bindings
      return context.kernel('get-next', 'get_next', all, 4, 'tree', { located })
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
    const { tree, keyBytes, payloadBytes, paddedBytes, locator } = this.#context
    const queries = this.#context.queries(recorder, scratch, request.keys, request.keyOffsets)
    const after = this.#context.upload(scratch, request.sequences)
    const found = scratch.bytes(bitmapBytes(count))
    const records = scratch.bytes(count * keyBytes)
    const padded = scratch.bytes(count * paddedBytes)
    const sequences = scratch.words(count)
    const buffers = [...arena.buffers, queries.keys, after, found, records, padded, sequences]
    let kernel = this.#kernel
    if (ready !== undefined && this.#located !== undefined && locator !== undefined) {
      kernel = this.#located
      const { variable } = tree.conditions
      const places = variable ? records : scratch.words(2 * count)
      const located = { places, residents: scratch.words(count) }
      locator.record(recorder, scratch, arena, ready, queries, count, false, located)
      if (!variable) buffers.push(places)
    }
    recorder.dispatch(
      kernel,
      [...buffers, ...this.#context.further(arena, 'tree', queries)],
      [count, tree.word, request.reverse ? 1 : 0, request.sequences === undefined ? 0 : 1],
      count,
    )
    const column = this.#narrow.record(recorder, scratch, padded, count, payloadBytes)
    const known = [
      { buffer: found, bytes: bitmapBytes(count) },
      { buffer: column, bytes: count * payloadBytes },
      { buffer: sequences, bytes: 4 * count },
    ]
    return { known, records }
  }
}

function resultOf([found, payloads, sequences, keys]: readonly Uint8Array[]): GetNextResult {
  return { found: found!, keys: keys!, payloads: payloads!, sequences: sequences! }
}
