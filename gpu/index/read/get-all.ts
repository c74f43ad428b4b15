import { WarpdexError } from '../../../protocol/errors.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { GetAllResult } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import type { PayloadHits } from './payload-hits.js'
import { type EntryColumn, type Queries, type ReadContext, TREE, words } from './read-context.js'
import type { ScanResultWriter } from './scan-result.js'

/** Payloads of a batch of keys, on the device. */
export interface RecordedGetAll {
  /** Of each key, and past the last: payloads before its own. */
  readonly positions: GPUBuffer
  /** Not 0 where there are more payloads than positions can say. */
  readonly overflowed: GPUBuffer
  readonly payloads: EntryColumn
}

/** All payloads of each key: the tuples of a batch of keys are taken like the tuples of one range. */
export class GetAll {
  readonly #context: ReadContext
  readonly #payloadHits: PayloadHits
  readonly #result: ScanResultWriter
  readonly #find: Kernel
  readonly #check: Kernel

  private constructor(
    context: ReadContext,
    payloadHits: PayloadHits,
    result: ScanResultWriter,
    kernels: readonly Kernel[],
  ) {
    this.#context = context
    this.#payloadHits = payloadHits
    this.#result = result
    this.#find = kernels[0]
    this.#check = kernels[1]
  }

  static async create(
    context: ReadContext,
    payloadHits: PayloadHits,
    result: ScanResultWriter,
  ): Promise<GetAll> {
    const kernels = await Promise.all([
      context.kernel('get-all', 'find_tuples', [...TREE, 'read', 'write', 'write', 'write'], 2, 'search'),
      context.kernel('get-all', 'check_offsets', ['read', 'write'], 2),
    ])
    return new GetAll(context, payloadHits, result, kernels)
  }

  /** @throws WarpdexError `TOO_LARGE` when there are more than `most` payloads, or than the device can return at once */
  async run(arena: Arena, keys: Uint8Array, most: number, keyOffsets?: Uint32Array): Promise<GetAllResult> {
    const limit = Math.min(most, this.#context.mostEntries)
    const count = this.#context.count(keys, keyOffsets)
    if (count === 0) return { offsets: new Uint32Array(1), payloads: new Uint8Array(0) }
    const scratch = this.#context.device.scratch()
    try {
      const recorder = this.#context.device.record()
      const queries = this.#context.queries(recorder, scratch, keys, keyOffsets)
      const recorded = this.record(recorder, scratch, arena, queries, count, limit)
      const known = [
        { buffer: recorded.positions, bytes: 4 * (count + 1) },
        { buffer: recorded.overflowed, bytes: 4 },
      ]
      const total = ([offsets, overflowed]: readonly Uint8Array[]) => {
        if (words(offsets)[count] <= limit && overflowed[0] === 0) return words(offsets)[count]
        throw new WarpdexError('TOO_LARGE', `the keys have more than ${limit} payloads; ask for fewer keys`)
      }
      const { known: read, entries } = await this.#context.readEntries(
        recorder,
        known,
        [recorded.payloads],
        limit,
        total,
      )
      return { offsets: words(read[0]), payloads: entries[0] }
    } finally {
      scratch.release()
    }
  }

  /** Records it for `count` keys that are on the device, up to `limit` payloads altogether. */
  record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    queries: Queries,
    count: number,
    limit: number,
  ): RecordedGetAll {
    const { tree, payloadBytes } = this.#context
    const tuples = scratch.words(count)
    const lengths = scratch.words(1)
    const ranges = scratch.words(2 * tree.keyWords + 2)
    const further = this.#context.further(arena, 'search', queries)
    const finding = [...arena.buffers, queries.keys, tuples, lengths, ranges, ...further]
    recorder.dispatch(this.#find, finding, [count, tree.word], count)
    const search = { count: 1, ranges, heap: queries.heap, reverse: false, limit }
    const listed = { tuples, width: count, lengths }
    const { hits, positions } = this.#payloadHits.record(recorder, scratch, arena, search, listed)
    const overflowed = scratch.words(1)
    recorder.clear(overflowed, 0, 4)
    recorder.dispatch(this.#check, [positions, overflowed], [count, tree.word], count)
    const { payloads } = this.#result.record(recorder, scratch, arena, search, hits)
    return { positions, overflowed, payloads: { buffer: payloads, entryBytes: payloadBytes } }
  }
}
