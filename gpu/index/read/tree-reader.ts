import { WarpdexError } from '../../../protocol/errors.js'
import type { ResultTables } from '../../../protocol/traversal.js'
import type { Device } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { TreeReads } from '../../device-reads.js'
import type {
  GetAllResult,
  GetNextRequest,
  GetNextResult,
  GetResult,
  IndexShape,
  ScanRequest,
  ScanResult,
} from '../../index-structure.js'
import type { ResultMemory } from '../../memory/result-memory.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena, ArenaContent } from '../arena.js'
import type { Locator, Ready } from '../partitions/locator.js'
import { BreadthFirst } from './breadth-first.js'
import { Count } from './count.js'
import { Get } from './get.js'
import { GetAll } from './get-all.js'
import { GetNext } from './get-next.js'
import { NarrowPayloads } from './narrow-payloads.js'
import { PayloadHits } from './payload-hits.js'
import { ReadContext } from './read-context.js'
import { Scan, type SearchForm } from './scan.js'
import { ScanResultWriter } from './scan-result.js'

/**
 * The reads of a prefix tree. Each is one submission, made before its promise is returned, so that it sees the arena as it is
 * at the time of the call, whatever is written or destroyed afterwards. Long results with keys of variable length are the
 * exception: they read the keys' heap once more, so that nothing may be written to the arena, nor may it be destroyed, before they settle.
 */
export class TreeReader {
  readonly #context: ReadContext
  readonly #get: Get
  readonly #getAll: GetAll
  readonly #count: Count
  readonly #getNext: GetNext
  readonly #scan: Scan
  readonly #breadthFirst: BreadthFirst | undefined

  private constructor(
    context: ReadContext,
    get: Get,
    getAll: GetAll,
    count: Count,
    getNext: GetNext,
    scan: Scan,
    breadthFirst: BreadthFirst | undefined,
  ) {
    this.#context = context
    this.#get = get
    this.#getAll = getAll
    this.#count = count
    this.#getNext = getNext
    this.#scan = scan
    this.#breadthFirst = breadthFirst
  }

  /** @param locator finds keys by partitions, where trees of the shape have any */
  static async create(
    device: Device,
    primitives: Primitives,
    shape: IndexShape,
    locator?: Locator,
  ): Promise<TreeReader> {
    const context = await ReadContext.create(device, primitives, shape, locator)
    const narrow = await NarrowPayloads.create(context)
    const payloadHits = await PayloadHits.create(context)
    const result = await ScanResultWriter.create(context, narrow)
    const levelled = context.tree.form === undefined
    const breadthFirst = levelled ? await BreadthFirst.create(context, payloadHits) : undefined
    const [get, getAll, count, getNext, scan] = await Promise.all([
      Get.create(context, narrow),
      GetAll.create(context, payloadHits, result),
      Count.create(context),
      GetNext.create(context, narrow),
      Scan.create(context, breadthFirst, result, narrow, payloadHits),
    ])
    return new TreeReader(context, get, getAll, count, getNext, scan, breadthFirst)
  }

  /** Records a get of `count` keys that are on the device; see `Get.record`. */
  recordGet(...args: Parameters<Get['record']>): void {
    this.#get.record(...args)
  }

  /**
   * The first payload of each key.
   * @param ready how to find them; see `Locator.ready`
   * @param memory where the result goes
   */
  get(
    arena: Arena,
    keys: Uint8Array,
    keyOffsets?: Uint32Array,
    ready?: Ready,
    memory?: ResultMemory,
  ): Promise<GetResult> {
    return this.#get.run(arena, keys, keyOffsets, ready, memory)
  }

  /** The result tables of the first key of a column, for a tree with partitions (Volk, Tables 1 and 2). */
  async tables(arena: Arena, keys: Uint8Array, keyOffsets?: Uint32Array): Promise<ResultTables | null> {
    const { locator, device } = this.#context
    if (locator === undefined) return null
    const offsets = keyOffsets?.subarray(0, 2)
    const first = keys.subarray(0, offsets?.[1] ?? this.#context.keyBytes)
    const { found } = await this.get(arena, first, offsets)
    const scratch = device.scratch()
    try {
      const recorder = device.record()
      const queries = this.#context.queries(recorder, scratch, first, offsets)
      recorder.submit()
      return await locator.tables(arena, queries, found[0] === 1)
    } finally {
      scratch.release()
    }
  }

  /**
   * All payloads of each key in insertion order.
   * @throws WarpdexError `TOO_LARGE` when there are more than `limit`
   */
  getAll(arena: Arena, keys: Uint8Array, limit: number, keyOffsets?: Uint32Array): Promise<GetAllResult> {
    return this.#getAll.run(arena, keys, limit, keyOffsets)
  }

  /** The number of payloads of each key, u32. */
  count(arena: Arena, keys: Uint8Array, keyOffsets?: Uint32Array): Promise<Uint8Array> {
    return this.#count.run(arena, keys, keyOffsets)
  }

  /** Records the counts of `count` keys that are on the device; see `Count.record`. */
  recordCount(...args: Parameters<Count['record']>): void {
    this.#count.record(...args)
  }

  /** Records a scan whose result stays on the device; see `Scan.record`. */
  recordScan(...args: Parameters<Scan['record']>): ReturnType<Scan['record']> {
    return this.#scan.record(...args)
  }

  /** What records reads of an arena whose answers stay on the device. */
  readsOf(arena: Arena, payloads: number): TreeReads {
    return {
      payloads,
      scansWide: this.#scan.isWide(arena),
      queries: (recorder, scratch, { bytes, offsets }) =>
        this.#context.queries(recorder, scratch, bytes, offsets),
      count: (recorder, queries, counts, count) =>
        this.#count.record(recorder, arena, queries, counts, count),
      getAll: (recorder, scratch, queries, count, limit) =>
        this.#getAll.record(recorder, scratch, arena, queries, count, limit),
      scan: (recorder, scratch, ranges) => this.#scan.recordParts(recorder, scratch, arena, ranges),
    }
  }

  /**
   * Entries of each range in order; `limit` is at least 1. A bound that is NaN is above every number.
   * @param form how to search; by default by the limit
   * @throws WarpdexError `TOO_LARGE` when the device cannot hold `limit` entries of each range
   */
  scan(arena: Arena, request: ScanRequest, form?: SearchForm): Promise<ScanResult> {
    return this.#scan.run(arena, request, form)
  }

  /**
   * The entry after, or before, each position; none for NaN.
   * @param ready how to find them; see `Locator.ready`
   */
  getNext(arena: Arena, request: GetNextRequest, ready?: Ready): Promise<GetNextResult> {
    return this.#getNext.run(arena, request, ready)
  }

  /**
   * Records the numbers of all `tupleCount` tuples in ascending key order into a scratch buffer: of a tree over keys of fixed
   * width, since others have no levels to go through.
   */
  order(recorder: Recorder, scratch: Scratch, arena: ArenaContent, tupleCount: number): GPUBuffer {
    if (this.#breadthFirst === undefined) throw new WarpdexError('INTERNAL', 'the tree has no levels')
    return this.#breadthFirst.order(recorder, scratch, arena, tupleCount)
  }
}
