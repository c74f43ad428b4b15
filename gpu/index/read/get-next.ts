import type { Column } from '../../../protocol/columns.js'
import { SEQUENCE_BYTES } from '../../../protocol/types.js'
import type { DeviceColumn, Kernels } from '../../device/device.js'
import { SEARCH_GROUP_SIZE } from '../../device/recorder.js'
import type { GetNextResult, ReadRequest } from '../../index-structure.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { TraversalPlan } from '../partitions/locator.js'
import { recordKeys, restoredKeys } from './key-columns.js'
import { bitmapBytes, type ReadContext, type ReadWork } from './read-context.js'
import type { Asked, ReadOperation, SearchedTree } from './read-operation.js'

/** The entry after, or before, each position (Volk §2.1). */
export class GetNext implements ReadOperation<'getNext'> {
  readonly isPlanned = true
  readonly #context: ReadContext
  readonly #fromRoot: Kernels<'get_next'>
  /** For keys that were located before; only where trees have partitions. */
  readonly #located: Kernels<'get_next'> | undefined

  constructor(context: ReadContext) {
    this.#context = context
    this.#fromRoot = context.kernels('get-next', ['get_next'])
    this.#located = context.locator && context.kernels('get-next', ['get_next'], { located: true })
  }

  async run(
    { arena, plan }: SearchedTree,
    request: ReadRequest<'getNext'>,
    asked: Asked<'getNext'>,
  ): Promise<GetNextResult> {
    const { restorer, device, keyBytes, payloadBytes: width } = this.#context
    const { count } = asked
    const resultOf = (keys: Column, [found, payloads, sequences]: readonly Uint8Array[]) => {
      const places = { bytes: sequences!, width: SEQUENCE_BYTES }
      return { found: found!, keys, payloads: { bytes: payloads!, width }, sequences: places }
    }
    return this.#context.read(arena, async (work) => {
      const { recorder } = work
      const { known, records } = this.#record(work, request, asked, plan)
      if (restorer === undefined || arena.heap === undefined) {
        const keys = { buffer: records, bytes: count * keyBytes }
        const columns = await device.submitAndRead(recorder, [...known, keys])
        return resultOf({ bytes: columns[3]!, width: keyBytes }, columns)
      }
      const found = { restorer, heap: arena.heap.buffer, records, most: count, live: undefined }
      const recorded = recordKeys(work, found)
      const starts = { buffer: recorded.starts.buffer, bytes: 4 * count }
      const columns = await device.submitAndRead(recorder, [...known, ...recorded.known, starts])
      const [, , , length, first, begins] = columns
      const keys = await restoredKeys(this.#context, work, found, [length!, first!], begins!)
      return resultOf(keys, columns)
    })
  }

  #record(
    work: ReadWork,
    { reverse }: ReadRequest<'getNext'>,
    asked: Asked<'getNext'>,
    plan: TraversalPlan | undefined,
  ): { known: DeviceColumn[]; records: DeviceMemory } {
    const { recorder, scratch, arena } = work
    const { keys, count } = asked
    const { device, tree, keyBytes, payloadBytes, paddedBytes, locator } = this.#context
    const queries = this.#context.queries(recorder, scratch, keys)
    const records = scratch.bytes(count * keyBytes)
    const padded = scratch.bytes(count * paddedBytes)
    // Adapters may bind no more than a dozen buffers, so one holds several columns.
    const sequences = scratch.bytes(4 * count + bitmapBytes(count))
    if (asked.sequences !== undefined) device.upload(sequences, asked.sequences.bytes)
    const located = plan && locator?.record(work, plan, queries, { count })
    const kernels = located === undefined ? this.#fromRoot : (this.#located ?? this.#fromRoot)
    recorder.dispatchGroups(
      kernels.get_next,
      {
        ...arena.bindings,
        queries: queries.keys,
        queryHeap: queries.heap,
        sequences,
        keys: records,
        payloads: padded,
        places: located?.places,
      },
      {
        count,
        shape: tree.word,
        reverse: reverse ? 1 : 0,
        withinKey: asked.sequences === undefined ? 0 : 1,
      },
      Math.ceil(count / SEARCH_GROUP_SIZE),
    )
    const column = this.#context.payloadColumn(work, padded, count)
    const known = [
      { buffer: sequences, offset: 4 * count, bytes: bitmapBytes(count) },
      { buffer: column, bytes: count * payloadBytes },
      { buffer: sequences, bytes: 4 * count },
    ]
    return { known, records }
  }
}
