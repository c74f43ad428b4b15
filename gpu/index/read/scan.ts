import { type CutColumn, NO_VALUES, valueAt } from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { SEQUENCE_BYTES } from '../../../protocol/types.js'
import type { AdapterFacts, Kernels } from '../../device/device.js'
import { SEARCH_GROUP_SIZE } from '../../device/recorder.js'
import type { InclusiveRanges } from '../../device-reads.js'
import type { ReadColumns, ScanOptions, ScanResult } from '../../index-structure.js'
import type { Arena } from '../arena.js'
import { EXPIRY_BYTES, type TreeShape } from '../layout.js'
import { splitPayloads } from '../timed-payloads.js'
import type { BreadthFirst } from './breadth-first.js'
import { ContiguousScan } from './contiguous-scan.js'
import { allocateHits, type Hits, type RangeSearch } from './hits.js'
import { recordKeys, restoredKeys } from './key-columns.js'
import type { PayloadHits } from './payload-hits.js'
import { type ReadContext, type ReadWork, words } from './read-context.js'
import type { ReadOperation, SearchedTree } from './read-operation.js'
import { type RangeColumns, ScanRanges } from './scan-ranges.js'
import type { ScanColumns, ScanResultWriter } from './scan-result.js'

/** How ranges are searched: one thread a range, or all levels of the tree one after the other at full width. */
export type SearchForm = 'walk' | 'breadth-first'

/**
 * Entries a range up to which walking is faster on a GPU. A walking thread reads its entries one after the other;
 * breadth-first pays for several dispatches a level, however few entries there are.
 */
export const WALK_LIMIT = 128

/**
 * The faster form. Where a CPU does the work there is no width to fill, and walking does the least of it. Trees over keys of
 * variable length are too deep for a dispatch a level.
 */
export function searchForm(
  { software }: AdapterFacts,
  { form, conditions }: TreeShape,
  limit: number,
): SearchForm {
  const walks = software || form !== undefined || conditions.linked || limit <= WALK_LIMIT
  return walks ? 'walk' : 'breadth-first'
}

/** Ordered scans of a batch of ranges in three phases: count, scan, write (He §4.2). */
export class Scan implements ReadOperation<'scan'> {
  readonly #context: ReadContext
  readonly #ranges: ScanRanges
  readonly #kernels: Kernels<'walk_ranges'>
  readonly #breadthFirst: BreadthFirst | undefined
  /** Only of CSS-trees. */
  readonly #contiguous: ContiguousScan | undefined
  readonly #result: ScanResultWriter

  constructor(
    context: ReadContext,
    breadthFirst: BreadthFirst | undefined,
    result: ScanResultWriter,
    payloadHits: PayloadHits,
  ) {
    this.#context = context
    this.#ranges = new ScanRanges(context)
    this.#kernels = context.kernels('walk', ['walk_ranges'])
    this.#breadthFirst = breadthFirst
    this.#result = result
    this.#contiguous = context.tree.conditions.css
      ? new ContiguousScan(context, result, payloadHits)
      : undefined
  }

  /**
   * A bound that is NaN is above every number.
   * @param form how to search; by default by the limit
   * @throws WarpdexError `TOO_LARGE` when the device cannot hold `limit` entries of each range
   */
  async run(
    { arena }: Pick<SearchedTree, 'arena'>,
    request: ScanOptions,
    columns: ReadColumns,
    form?: SearchForm,
  ): Promise<ScanResult> {
    const limit = this.#limit(arena, request)
    return this.#context.read(arena, async (work) => {
      const found = this.record(work, { ...request, ...columns, limit }, form)
      return this.#read(work, found, request, limit)
    })
  }

  /** Records a scan whose result stays on the device, where it has room for `limit` entries of each range. */
  record(work: ReadWork, request: ScanOptions & RangeColumns, given?: SearchForm): ScanColumns {
    const { device, tree } = this.#context
    const { arena } = work
    const { limit } = request
    const search: RangeSearch = {
      ...this.#ranges.record(work, request),
      count: request.ranges,
      reverse: request.reverse ?? false,
      limit,
      isWhole: request.withExpireAt,
    }
    if (given === undefined && this.#contiguous !== undefined && arena.isContiguous) {
      return this.#contiguous.record(work, search)
    }
    // Of a CSS-tree the nodes hold but a part.
    const form = tree.conditions.css ? 'walk' : (given ?? searchForm(device.facts, tree, limit))
    const breadthFirst = form === 'walk' ? undefined : this.#breadthFirst
    const hits = breadthFirst?.record(work, search) ?? this.walk(work, search)
    return this.#result.record(work, search, hits)
  }

  /** Whether `recordParts` finds entries of a range side by side, as opposed to walking. */
  isWide({ sorted, tuples }: Arena): boolean {
    if (sorted === undefined) return this.#breadthFirst !== undefined
    return !sorted.hasRemoved && (this.#breadthFirst !== undefined || tuples.records === sorted.tuples)
  }

  /**
   * Records a scan of ranges whose ends belong to them, as wide as it goes whatever the limit. Its columns hold a part each: the entries of a CSS-tree's
   * sorted part, and those of its delta.
   */
  recordParts(work: ReadWork, request: InclusiveRanges): readonly ScanColumns[] {
    const { ranges: count, limit } = request
    const search = {
      ...this.#ranges.record(work, request),
      count,
      reverse: false,
      limit,
    }
    if (this.#contiguous !== undefined && work.arena.isContiguous) {
      return [this.#contiguous.record(work, search)]
    }
    const parts = this.#parts(work, search)
    return parts.map((hits) => this.#result.record(work, search, hits))
  }

  /**
   * The first entries of each range by one thread a range, which suits small limits. It steps over the dead entries between live ones one by
   * one; that there are never many for long is up to compaction.
   */
  walk(work: ReadWork, search: RangeSearch): Hits {
    const { recorder, scratch, arena } = work
    const { count, ranges, heap: queryHeap, limit, reverse } = search
    const result = allocateHits(scratch, search)
    const buffers = { ...arena.bindings, queryHeap, ranges, ...result }
    const params = { ranges: count, shape: this.#context.tree.word, limit, reverse: reverse ? 1 : 0 }
    const groups = Math.ceil(count / SEARCH_GROUP_SIZE)
    recorder.dispatchGroups(this.#kernels.walk_ranges, buffers, params, groups)
    return result
  }

  #parts(work: ReadWork, search: RangeSearch): readonly Hits[] {
    const { arena } = work
    const { sorted, tuples } = arena
    if (!this.isWide(arena)) return [this.walk(work, search)]
    const inSorted = sorted?.tuples ? this.#contiguous?.recordHits(work, search) : undefined
    const isInNodes = tuples.records > (sorted?.tuples ?? 0)
    const inNodes = isInNodes ? this.#breadthFirst?.record(work, search) : undefined
    return [inSorted ?? [], inNodes ?? []].flat()
  }

  /** The request's limit, but no more than there are entries, so that memory is not set aside for nothing. */
  #limit(arena: Arena, request: ScanOptions): number {
    const { device, tree, mostEntries: most } = this.#context
    const entries = arena.tuples.records + Math.floor(arena.extents.records / tree.entryStride)
    const limit = Math.max(1, Math.min(request.limit, entries))
    if (request.ranges * limit <= most) return limit
    throw new WarpdexError(
      'TOO_LARGE',
      `${request.ranges} ranges with a limit of ${limit} entries each are more than the ${most} that ${device.facts.name} can return at once`,
    )
  }

  async #read(
    work: ReadWork,
    columns: ScanColumns,
    { ranges, memory, withoutKeys, withoutPayloads, withExpireAt = false }: ScanOptions,
    limit: number,
  ): Promise<ScanResult> {
    const { recorder, arena } = work
    const { restorer, keyBytes } = this.#context
    const width = this.#context.widthOf(withExpireAt)
    const most = ranges * limit
    const known = [
      { buffer: columns.offsets, bytes: 4 * (ranges + 1) },
      { buffer: columns.more, bytes: ranges },
      { buffer: columns.tokens, bytes: ranges * (keyBytes + SEQUENCE_BYTES) },
    ]
    // A column that is left out is read as one of no bytes.
    const payloads = { buffer: columns.payloads, entryBytes: withoutPayloads ? 0 : width }
    const total = ([offsets]: readonly Uint8Array[]) => words(offsets!)[ranges]!
    if (restorer === undefined || arena.heap === undefined) {
      const keys = { buffer: columns.keys, entryBytes: withoutKeys ? 0 : keyBytes }
      const read = await this.#context.readEntries(recorder, known, [keys, payloads], most, total, memory)
      const [offsets, more, tokens] = read.known
      return {
        offsets: words(offsets!),
        keys: { bytes: read.entries[0]!, width: keyBytes },
        ...payloadColumns(read.entries[1]!, width, withExpireAt),
        more: more!,
        tokens: { bytes: tokens!, width: keyBytes + SEQUENCE_BYTES },
      }
    }
    const live = { buffer: columns.offsets, index: ranges }
    const found = { restorer, heap: arena.heap.buffer, records: columns.keys, most, live }
    const restoring = recordKeys(work, found)
    const read = await this.#context.readEntries(
      recorder,
      [...known, ...restoring.known],
      [restoring.starts, payloads],
      most,
      total,
      memory,
    )
    const [offsets, more, positions, length, first] = read.known
    // Tokens are made of keys.
    const keys = await restoredKeys(this.#context, work, found, [length!, first!], read.entries[0]!)
    const ends = words(offsets!)
    return {
      offsets: ends,
      keys: withoutKeys ? NO_VALUES : keys,
      ...payloadColumns(read.entries[1]!, width, withExpireAt),
      more: more!,
      tokens: variableTokens(ends, keys, words(positions!)),
    }
  }
}

/** Payloads of a result, and where they are whole when each expires. */
function payloadColumns(
  bytes: Uint8Array,
  width: number,
  isWhole: boolean,
): Pick<ScanResult, 'payloads' | 'expireAt'> {
  return isWhole ? splitPayloads(bytes, width - EXPIRY_BYTES) : { payloads: { bytes, width } }
}

/** The token of each range: the key of its last entry, and the sequence number that follows the record of that key. */
function variableTokens(offsets: Uint32Array, keys: CutColumn, positions: Uint32Array): CutColumn {
  const ranges = offsets.length - 1
  const ends = new Uint32Array(ranges + 1)
  const last = (range: number) =>
    offsets[range + 1]! > offsets[range]! ? valueAt(keys, offsets[range + 1]! - 1) : undefined
  for (let range = 0; range < ranges; range++) {
    const key = last(range)
    ends[range + 1] = ends[range]! + (key === undefined ? 0 : key.byteLength + SEQUENCE_BYTES)
  }
  const bytes = new Uint8Array(ends[ranges]!)
  const view = new DataView(bytes.buffer)
  for (let range = 0; range < ranges; range++) {
    const key = last(range)
    if (key === undefined) continue
    bytes.set(key, ends[range])
    view.setUint32(ends[range + 1]! - SEQUENCE_BYTES, positions[3 * range + 2]!, true)
  }
  return { bytes, offsets: ends }
}
