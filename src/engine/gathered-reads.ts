import type {
  GetNextResult,
  GetResult,
  ReadColumns,
  ReadOp,
  ReadRequest,
  ReadResults,
  ScanResult,
} from '../../gpu/index-structure.js'
import { type Column, countOf, joinColumns, sliceColumn } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { CoalescerByKind, type CoalescerOptions, cutShared, paddedCount } from './coalescer.js'

/** Keys of a read, or entries of its result, that are too few to hold up others. */
export const SMALL_READ = 4096
/** The same of bytes of keys. */
const SMALL_BYTES = 256 * 1024

/** What one shared dispatch takes. */
const SHARED = { items: 65_536, bytes: 4 * 2 ** 20 }

/** Dispatches under way: one goes up, one computes and one comes back. */
const DISPATCHES = 3

/** Reads of which small ones share dispatches. */
export type SharedOp = 'get' | 'getNext' | 'scan'

/** A read as it was asked for. */
interface Asked<Op extends SharedOp> {
  readonly request: ReadRequest<Op>
  readonly columns: ReadColumns
}

/** Reads what an index holds. */
export type RunShared = <Op extends SharedOp>(
  request: ReadRequest<Op>,
  columns: ReadColumns,
) => Promise<ReadResults[Op]>

/**
 * Lets small gets, `getNext`s and scans of an index share dispatches, those that ask alike: a dispatch and its readback cost as much as tens of
 * thousands of lookups.
 */
export class GatheredReads {
  readonly #run: RunShared
  readonly #alike: CoalescerByKind<Asked<SharedOp>, ReadResults[SharedOp]>

  /**
   * @param onDispatch told how many reads went together, and how long the first of them waited for that
   */
  constructor(run: RunShared, onDispatch?: CoalescerOptions<unknown, unknown>['onLeave']) {
    this.#run = run
    this.#alike = new CoalescerByKind({
      underWay: DISPATCHES,
      share: ({ request, columns }) =>
        Math.max(paddedCount(weightOf(request, columns)) / SHARED.items, bytesOf(columns) / SHARED.bytes),
      onLeave: onDispatch,
      ask: (reads) => this.#ask(reads),
    })
  }

  /** What the request finds; it is one that `goesWithOthers`. */
  read<Op extends SharedOp>(request: ReadRequest<Op>, columns: ReadColumns): Promise<ReadResults[Op]> {
    const { kind }: Sharing<Op> = SHARINGS[request.op]
    // What is asked together has results of the same operation.
    return this.#alike.call(kind(request, columns), { request, columns }) as Promise<ReadResults[Op]>
  }

  async #ask<Op extends SharedOp>(
    reads: readonly Asked<Op>[],
  ): Promise<readonly (ReadResults[Op] | Promise<ReadResults[Op]>)[]> {
    const run = ({ request, columns }: Asked<Op>) => this.#run(request, columns)
    const [first] = reads
    if (reads.length === 1 && first !== undefined) return [await run(first)]
    const sharing: Sharing<Op> = SHARINGS[reads[0].request.op]
    try {
      return sharing.cut(await run(sharing.join(reads)), reads)
    } catch (error) {
      // Together the keys that they find may be more than one result holds.
      if (!(error instanceof WarpdexError) || error.code !== 'TOO_LARGE') throw error
      return reads.map(run)
    }
  }
}

/** Whether a read shares a dispatch. One that does is answered as the planner finds best for all of them. */
export function goesWithOthers(
  request: ReadRequest<ReadOp>,
  columns: ReadColumns,
): request is ReadRequest<SharedOp> {
  if (!(request.op in SHARINGS)) return false
  if ('traversal' in request && request.traversal !== undefined) return false
  if ('withExpireAt' in request && request.withExpireAt === true) return false
  return weightOf(request, columns) <= SMALL_READ && bytesOf(columns) <= SMALL_BYTES
}

/** Keys that are asked for, or entries at most. */
export function weightOf(request: ReadRequest<ReadOp>, { keys }: ReadColumns): number {
  if (request.op === 'explain') return 1
  if ('ranges' in request) return request.ranges * ('limit' in request ? request.limit : 1)
  return keys === undefined ? 0 : countOf(keys)
}

function bytesOf({ keys, from, to, tokens }: ReadColumns): number {
  let bytes = 0
  for (const column of [keys, from, to, tokens]) bytes += column?.bytes.byteLength ?? 0
  return bytes
}

/** How reads that ask alike become one, and its result theirs. */
interface Sharing<Op extends SharedOp> {
  /** A name for all that ask alike. */
  readonly kind: (request: ReadRequest<Op>, columns: ReadColumns) => string
  /** Memory is lent for one reply, so that they have a result in memory of its own. */
  readonly join: (reads: readonly Asked<Op>[]) => Asked<Op>
  readonly cut: (whole: ReadResults[Op], reads: readonly Asked<Op>[]) => readonly ReadResults[Op][]
}

const SHARINGS: { readonly [Op in SharedOp]: Sharing<Op> } = {
  get: {
    kind: ({ withSequences }) => `get ${withSequences === true}`,
    join: (reads) => ({ request: { ...reads[0].request, memory: undefined }, columns: joinedKeys(reads) }),
    cut: ({ found, payloads, sequences }, reads) =>
      cutShared(found, keyCounts(reads), (ownFound, start, count): GetResult => {
        const part = (column: Column) => sliceColumn(column, start, start + count)
        return { found: ownFound, payloads: part(payloads), sequences: sequences && part(sequences) }
      }),
  },
  getNext: {
    kind: ({ reverse }, { sequences }) => `getNext ${reverse === true} ${sequences !== undefined}`,
    join: (reads) => ({ request: reads[0].request, columns: joinedKeys(reads) }),
    cut: ({ found, keys, payloads, sequences }, reads) =>
      cutShared(found, keyCounts(reads), (ownFound, start, count): GetNextResult => {
        const part = (column: Column) => sliceColumn(column, start, start + count)
        return {
          found: ownFound,
          keys: part(keys),
          payloads: part(payloads),
          sequences: part(sequences),
        }
      }),
  },
  scan: {
    kind: ({ limit, ...asks }, { from, to, tokens }) => {
      const { reverse, fromExclusive, toExclusive, withoutKeys, withoutPayloads } = asks
      const flags = [reverse, fromExclusive, toExclusive, withoutKeys, withoutPayloads, from, to, tokens]
      return `scan ${limit} ${flags.map((flag) => (flag ? 1 : 0)).join('')}`
    },
    join: (reads) => ({
      request: { ...reads[0].request, ranges: rangesOf(reads), memory: undefined },
      columns: joinedRanges(reads),
    }),
    cut: cutRanges,
  },
}

function keyCounts(reads: readonly { readonly columns: ReadColumns }[]): readonly number[] {
  return reads.map(({ columns: { keys } }) => (keys === undefined ? 0 : countOf(keys)))
}

/** The positions of all, each read's filled up. */
function joinedKeys(reads: readonly { readonly columns: ReadColumns }[]): ReadColumns {
  const rooms = keyCounts(reads).map(paddedCount)
  const joined = (name: 'keys' | 'sequences') => {
    const columns = reads.flatMap(({ columns }) => columns[name] ?? [])
    return columns.length === 0 ? undefined : joinColumns(columns, rooms)
  }
  return { keys: joined('keys'), sequences: joined('sequences') }
}

function rangesOf(reads: readonly Asked<'scan'>[]): number {
  return reads.reduce((sum, { request }) => sum + request.ranges, 0)
}

function joinedRanges(reads: readonly Asked<'scan'>[]): ReadColumns {
  const joined = (name: 'from' | 'to' | 'tokens') => {
    const columns = reads.flatMap(({ columns }) => columns[name] ?? [])
    return columns.length === 0 ? undefined : joinColumns(columns)
  }
  return { from: joined('from'), to: joined('to'), tokens: joined('tokens') }
}

function cutRanges(whole: ScanResult, reads: readonly Asked<'scan'>[]): readonly ScanResult[] {
  const { offsets, more } = whole
  let begin = 0
  return reads.map(({ request: { ranges, withoutKeys, withoutPayloads } }) => {
    const end = begin + ranges
    const [first, last] = [offsets[begin], offsets[end]]
    const entries = (column: Column, isLeftOut = false) =>
      isLeftOut ? column : sliceColumn(column, first, last)
    const part = {
      offsets: offsets.slice(begin, end + 1).map((offset) => offset - first),
      keys: entries(whole.keys, withoutKeys),
      payloads: entries(whole.payloads, withoutPayloads),
      more: more.subarray(begin, end),
      tokens: sliceColumn(whole.tokens, begin, end),
    }
    begin = end
    return part
  })
}
