import { WarpdexError } from '../../../protocol/errors.js'
import type { Kernels } from '../../device/device.js'
import type { GetAllResult, ReadRequest } from '../../index-structure.js'
import type { KeyColumn } from '../../keys/key-column.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { PayloadHits } from './payload-hits.js'
import { type EntryColumn, type ReadContext, type ReadWork, words } from './read-context.js'
import type { Asked, ReadOperation, SearchedTree } from './read-operation.js'
import type { ScanResultWriter } from './scan-result.js'

/** Payloads of a batch of keys, on the device. */
export interface RecordedGetAll {
  /** Of each key, and past the last: payloads before its own. */
  readonly positions: DeviceMemory
  /** Not 0 where there are more payloads than positions can say. */
  readonly overflowed: DeviceMemory
  readonly payloads: EntryColumn
}

/** All payloads of each key: the tuples of a batch of keys are taken like the tuples of one range. */
export class GetAll implements ReadOperation<'getAll'> {
  readonly #context: ReadContext
  readonly #payloadHits: PayloadHits
  readonly #result: ScanResultWriter
  readonly #kernels: Kernels<'find_tuples' | 'check_offsets'>

  constructor(context: ReadContext, payloadHits: PayloadHits, result: ScanResultWriter) {
    this.#context = context
    this.#payloadHits = payloadHits
    this.#result = result
    this.#kernels = context.kernels('get-all', ['find_tuples', 'check_offsets'])
  }

  /** @throws WarpdexError `TOO_LARGE` when there are more payloads than the limit, or than the device can return at once */
  async run(
    { arena }: SearchedTree,
    request: ReadRequest<'getAll'>,
    { keys, count }: Asked<'getAll'>,
  ): Promise<GetAllResult> {
    const limit = Math.min(request.limit, this.#context.mostEntries)
    return this.#context.read(arena, async (work) => {
      const queries = this.#context.queries(work.recorder, work.scratch, keys)
      const { positions, overflowed, payloads } = this.record(work, queries, count, limit)
      const known = [
        { buffer: positions, bytes: 4 * (count + 1) },
        { buffer: overflowed, bytes: 4 },
      ]
      const total = ([offsets, overflowed]: readonly Uint8Array[]) => {
        if (words(offsets)[count] <= limit && overflowed[0] === 0) return words(offsets)[count]
        throw new WarpdexError('TOO_LARGE', `the keys have more than ${limit} payloads; ask for fewer keys`)
      }
      const read = await this.#context.readEntries(work.recorder, known, [payloads], limit, total)
      const { payloadBytes: width } = this.#context
      return { offsets: words(read.known[0]), payloads: { bytes: read.entries[0], width } }
    })
  }

  /** Records it for `count` keys that are on the device, up to `limit` payloads altogether. */
  record(work: ReadWork, queries: KeyColumn, count: number, limit: number): RecordedGetAll {
    const { recorder, scratch, arena } = work
    const { tree, payloadBytes } = this.#context
    const tuples = scratch.words(count)
    const lengths = scratch.words(1)
    const ranges = scratch.words(2 * tree.keyWords + 2)
    const keys = { queries: queries.keys, queryHeap: queries.heap }
    const finding = { ...arena.bindings, ...keys, found: tuples, length: lengths, everything: ranges }
    const params = { count, shape: tree.word }
    recorder.dispatch(this.#kernels.find_tuples, finding, params, count)
    const search = { count: 1, ranges, heap: queries.heap, reverse: false, limit }
    const listed = { tuples, width: count, lengths }
    const { hits, positions } = this.#payloadHits.record(work, search, listed)
    const overflowed = scratch.words(1)
    recorder.clear(overflowed, 0, 4)
    recorder.dispatch(this.#kernels.check_offsets, { offsets: positions, overflowed }, params, count)
    const { payloads } = this.#result.record(work, search, hits)
    return { positions, overflowed, payloads: { buffer: payloads, entryBytes: payloadBytes } }
  }
}
