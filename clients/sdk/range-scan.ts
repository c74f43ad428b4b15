import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Rows } from '../../protocol/rows.js'
import type { IndexDefinition, KeyType, PayloadKind } from '../../protocol/types.js'
import { ANYTHING, checkOptions, FLAG, type Kinds, NUMBER } from './check-options.js'
import type { KeyEnd, Keys } from './keys.js'
import { type Bounds, CALL_OPTIONS, type CallOptions } from './options.js'
import type { Payloads } from './payloads.js'
import { askForRanges, pickRanges, type RangeColumns } from './range-columns.js'
import type { Reply } from './reply.js'
import {
  eachEntry,
  type Part,
  readBytes,
  readGroups,
  readKeys,
  readPayloads,
  readTokens,
} from './reply-columns.js'
import { Entries } from './results.js'
import type { KeyVector } from './stored-keys.js'

/** Ranges of keys: one for each of `from`, of `to`, or of both together. The deadline is that of each page. */
export interface RangesOptions<K extends KeyType> extends CallOptions {
  /** Smallest key of each range; from the smallest of the index by default. Leading parts of a tuple stand for all that have them. */
  readonly from?: Keys<K> | readonly KeyEnd<K>[] | undefined
  /** Largest key of each range; to the largest of the index by default. */
  readonly to?: Keys<K> | readonly KeyEnd<K>[] | undefined
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
  /** From the largest key down, and within a key from the last payload to the first. */
  readonly reverse?: boolean | undefined
  /** Entries that a page has of each range at most; fewer where the payloads would be too large for a frame. */
  readonly limit: number
}

const RANGES_OPTIONS: Kinds<RangesOptions<KeyType>> = {
  from: ANYTHING,
  to: ANYTHING,
  fromExclusive: FLAG,
  toExclusive: FLAG,
  reverse: FLAG,
  limit: NUMBER,
  ...CALL_OPTIONS,
}

/** @throws WarpdexError `BAD_REQUEST` */
export function checkRanges(options: RangesOptions<KeyType>): void {
  if (Object(options).prefix !== undefined) {
    throw badRequest(
      'scanRanges has from and to, and no prefix; scan({prefix}) goes through the keys that begin with one, and leading parts of tuples as from and to are prefixes',
    )
  }
  checkOptions(options, RANGES_OPTIONS, 'scanRanges')
}

/** What the pages of a scan of ranges have in common. */
export interface RangeScan {
  readonly definition: IndexDefinition
  readonly limit: number
  readonly ask: (ranges: RangeColumns, limit: number, bounds: Bounds) => Promise<Reply<'scan'>>
  /** The bounds of a page that is asked for now. */
  readonly bounds: () => Bounds
}

/** What a page's ranges are, and where each goes on. */
interface PageState {
  readonly scan: RangeScan
  /** How many ranges the scan began with. */
  readonly count: number
  /** Those of them that the page was asked for. */
  readonly numbers: Uint32Array
  readonly ranges: RangeColumns
}

/** The next entries of each range of a scan. Ranges keep their numbers over all pages; a finished one has no entries. */
export class RangesPage<K extends KeyType, P extends PayloadKind> {
  /** Number of ranges. */
  readonly length: number
  /** Entries of range i are number offsets[i] to offsets[i + 1] of `keys` and `payloads`. */
  readonly offsets: Uint32Array
  readonly keys: KeyVector<K>
  readonly payloads: Payloads<P>
  readonly #more: Uint8Array
  readonly #next: () => Promise<RangesPage<K, P> | undefined>

  constructor(state: PageState, parts: readonly Part[]) {
    const { scan, count, numbers } = state
    const more = readBytes(parts, 'more')
    const offsets = readGroups(parts)
    this.length = count
    this.keys = readKeys<K>(parts, scan.definition, eachEntry)
    this.payloads = readPayloads<P>(parts, scan.definition, eachEntry)
    this.offsets = spreadOffsets(offsets, numbers, count)
    this.#more = new Uint8Array(count)
    for (let i = 0; i < numbers.length; i++) this.#more[numbers[i]] = more[i]
    this.#next = () => fetchNext(state, more, readTokens(parts, scan.definition))
    if (numbers.some((_, i) => more[i] === 1 && offsets[i] === offsets[i + 1])) {
      throw new WarpdexError('INTERNAL', 'the server sent a range without entries and says that it has more')
    }
  }

  /** The entries of range i, as views of the page's columns. */
  of(i: number): Entries<K, P> {
    const first = this.offsets[i]
    const end = this.offsets[i + 1]
    // The part of a column of keys is one of the same type.
    const keys = this.keys.subarray(first, end) as KeyVector<K>
    return new Entries(keys, this.payloads.part(first, end))
  }

  /** Whether range i may have more entries behind this page. */
  more(i: number): boolean {
    return this.#more[i] === 1
  }

  /** The next page of all ranges that may have more entries; undefined when no range has. May be called again later. */
  next(): Promise<RangesPage<K, P> | undefined> {
    return this.#next()
  }
}

/** @throws WarpdexError `BAD_REQUEST` for a limit that no request may have */
export async function firstPage<K extends KeyType, P extends PayloadKind>(
  scan: RangeScan,
  ranges: RangeColumns,
  bounds: Bounds,
): Promise<RangesPage<K, P>> {
  const { limit } = scan
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMITS.scanEntries) {
    const message = `the limit of ranges is 1 to ${LIMITS.scanEntries} entries, not ${limit}`
    throw badRequest(message)
  }
  const numbers = Uint32Array.from({ length: ranges.count }, (_, i) => i)
  return fetchPage({ scan, count: ranges.count, numbers, ranges }, bounds)
}

async function fetchNext<K extends KeyType, P extends PayloadKind>(
  { scan, count, numbers, ranges }: PageState,
  more: Uint8Array,
  tokens: Rows,
): Promise<RangesPage<K, P> | undefined> {
  const left = Uint32Array.from(numbers.keys()).filter((i) => more[i] === 1)
  if (left.length === 0) return undefined
  const pending = pickRanges({ ...ranges, tokens }, left)
  return fetchPage({ scan, count, numbers: left.map((i) => numbers[i]), ranges: pending }, scan.bounds())
}

async function fetchPage<K extends KeyType, P extends PayloadKind>(
  state: PageState,
  bounds: Bounds,
): Promise<RangesPage<K, P>> {
  const { scan, ranges } = state
  const parts = await askForRanges(ranges, scan.limit, async (part, limit) => {
    return { reply: await scan.ask(part, limit, bounds), count: part.count, limit }
  })
  return new RangesPage(state, parts)
}

/** Offsets of the entries of some ranges as offsets of all: the others have none. */
function spreadOffsets(offsets: Uint32Array, numbers: Uint32Array, count: number): Uint32Array {
  if (numbers.length === count) return offsets
  const spread = new Uint32Array(count + 1)
  for (let i = 0; i < numbers.length; i++) {
    // From the end of this range to the end of the next one nothing is added.
    spread.fill(offsets[i + 1], numbers[i] + 1, i + 1 < numbers.length ? numbers[i + 1] + 1 : count + 1)
  }
  return spread
}
