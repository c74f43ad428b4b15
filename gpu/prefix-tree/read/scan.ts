import { WarpdexError } from '../../../protocol/errors.js'
import type { AdapterFacts } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { ScanRequest, ScanResult } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import type { BreadthFirst } from './breadth-first.js'
import type { RangeSearch } from './hits.js'
import { type ReadContext, words } from './read-context.js'
import { ScanRanges } from './scan-ranges.js'
import type { ScanColumns, ScanResultWriter } from './scan-result.js'
import { Walk } from './walk.js'

/** How ranges are searched: one thread a range, or all levels of the tree one after the other at full width. */
export type SearchForm = 'walk' | 'breadth-first'

/**
 * Entries a range up to which walking is faster on a GPU. A walking thread reads its entries one after the other;
 * breadth-first pays for several dispatches a level, however few entries there are.
 */
export const WALK_LIMIT = 128

/** The faster form. Where a CPU does the work there is no width to fill, and walking does the least of it. */
export function searchForm({ software }: AdapterFacts, limit: number): SearchForm {
  return software || limit <= WALK_LIMIT ? 'walk' : 'breadth-first'
}

/** Ordered scans of a batch of ranges in three phases: count, scan, write (He §4.2). */
export class Scan {
  readonly #context: ReadContext
  readonly #ranges: ScanRanges
  readonly #walk: Walk
  readonly #breadthFirst: BreadthFirst
  readonly #result: ScanResultWriter

  private constructor(
    context: ReadContext,
    ranges: ScanRanges,
    walk: Walk,
    breadthFirst: BreadthFirst,
    result: ScanResultWriter,
  ) {
    this.#context = context
    this.#ranges = ranges
    this.#walk = walk
    this.#breadthFirst = breadthFirst
    this.#result = result
  }

  static async create(
    context: ReadContext,
    breadthFirst: BreadthFirst,
    result: ScanResultWriter,
  ): Promise<Scan> {
    const [ranges, walk] = await Promise.all([ScanRanges.create(context), Walk.create(context)])
    return new Scan(context, ranges, walk, breadthFirst, result)
  }

  /** @throws WarpdexError `TOO_LARGE` when the device cannot hold `limit` entries of each range */
  async run(arena: Arena, request: ScanRequest, form?: SearchForm): Promise<ScanResult> {
    const { device } = this.#context
    const limit = this.#limit(arena, request)
    const scratch = device.scratch()
    try {
      const recorder = device.record()
      const columns = this.#record(
        recorder,
        scratch,
        arena,
        request,
        limit,
        form ?? searchForm(device.facts, limit),
      )
      return await this.#read(recorder, columns, request.ranges, limit)
    } finally {
      scratch.release()
    }
  }

  #record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    request: ScanRequest,
    limit: number,
    form: SearchForm,
  ): ScanColumns {
    const ranges = this.#ranges.record(recorder, scratch, request)
    const search: RangeSearch = { count: request.ranges, ranges, reverse: request.reverse ?? false, limit }
    const searcher = form === 'walk' ? this.#walk : this.#breadthFirst
    const hits = searcher.record(recorder, scratch, arena, search)
    return this.#result.record(recorder, scratch, arena, search, hits)
  }

  /** The request's limit, but no more than there are entries, so that memory is not set aside for nothing. */
  #limit(arena: Arena, request: ScanRequest): number {
    const { device, tree, paddedBytes } = this.#context
    const entries = arena.tuples.records + Math.floor(arena.extents.records / tree.entryStride)
    const limit = Math.max(1, Math.min(request.limit, entries))
    const most = Math.floor(device.facts.bindingBytes / Math.max(8, paddedBytes))
    if (request.ranges * limit <= most) return limit
    throw new WarpdexError(
      'TOO_LARGE',
      `${request.ranges} ranges with a limit of ${limit} entries each are more than the ${most} that ${device.facts.name} can return at once`,
    )
  }

  async #read(recorder: Recorder, columns: ScanColumns, ranges: number, limit: number): Promise<ScanResult> {
    const { keyBytes, payloadBytes } = this.#context
    const { known, entries } = await this.#context.readEntries(
      recorder,
      [
        { buffer: columns.offsets, bytes: 4 * (ranges + 1) },
        { buffer: columns.more, bytes: ranges },
        { buffer: columns.tokens, bytes: ranges * (keyBytes + 4) },
      ],
      [
        { buffer: columns.keys, entryBytes: keyBytes },
        { buffer: columns.payloads, entryBytes: payloadBytes },
      ],
      ranges * limit,
      ([offsets]) => words(offsets)[ranges],
    )
    const [offsets, more, tokens] = known
    const [keys, payloads] = entries
    return { offsets: words(offsets), keys, payloads, more, tokens }
  }
}
