import { pickValues } from '../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { KeyType, PayloadKind } from '../../protocol/types.js'
import { ANYTHING, type Bounds, type CallOptions, type Kinds, NUMBER } from './call-options.js'
import { mapColumns } from './data-call.js'
import type { IndexCalls, KnownIndex } from './index-calls.js'
import type { KeyEnd, Keys } from './keys.js'
import { RANGE_ORDER, type RangeOrder, rangesOf, type ScanCall } from './ranges.js'
import { eachEntry, type Part, readBytes, readGroups, readKeys, readPayloads, readTokens } from './reply.js'
import { Entries, type KeyVector, type Payloads } from './results.js'
import { READ_AT_OPTIONS, type ReadAtOptions, versionOf } from './snapshot.js'

/** Ranges of keys: one for each of `from`, of `to`, or of both together. The deadline is that of each page. */
export interface RangesOptions<K extends KeyType> extends ReadAtOptions, RangeOrder {
  /** Smallest key of each range; from the smallest of the index by default. Leading parts of a tuple stand for all that have them. */
  readonly from?: Keys<K> | readonly KeyEnd<K>[] | undefined
  /** Largest key of each range; to the largest of the index by default. */
  readonly to?: Keys<K> | readonly KeyEnd<K>[] | undefined
  /** Entries that a page has of each range at most; fewer where the payloads would be too large for a frame. */
  readonly limit: number
}

export const RANGES_OPTIONS: Kinds<RangesOptions<KeyType>> = {
  from: ANYTHING,
  to: ANYTHING,
  ...RANGE_ORDER,
  limit: NUMBER,
  ...READ_AT_OPTIONS,
}

/** What a page's ranges are, and where each goes on. */
interface PageState {
  readonly calls: IndexCalls
  readonly known: KnownIndex
  readonly options: CallOptions
  /** How many ranges the scan began with. */
  readonly count: number
  /** Those of them that the page was asked for. */
  readonly numbers: Uint32Array
  readonly ranges: ScanCall
}

/** The next entries of each range of a scan. Ranges keep their numbers over all pages; a finished one has no entries. */
export class RangesPage<K extends KeyType, P extends PayloadKind> {
  /** Number of ranges. */
  readonly length: number
  /** Entries of range i are number offsets[i] to offsets[i + 1] of `keys` and `payloads`. */
  readonly offsets: Uint32Array
  readonly keys: KeyVector<K>
  readonly payloads: Payloads<P>
  readonly #state: PageState
  readonly #parts: readonly Part[]
  readonly #more: Uint8Array

  constructor(state: PageState, parts: readonly Part[]) {
    const { known, count, numbers } = state
    const more = readBytes(parts, 'more')
    const offsets = readGroups(parts)
    this.length = count
    this.keys = readKeys<K>(parts, known, eachEntry)
    this.payloads = readPayloads<P>(parts, known, eachEntry)
    this.offsets = spreadOffsets(offsets, numbers, count)
    this.#state = state
    this.#parts = parts
    this.#more = new Uint8Array(count)
    for (let i = 0; i < numbers.length; i++) this.#more[numbers[i]] = more[i]
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
  async next(): Promise<RangesPage<K, P> | undefined> {
    const { calls, known, options, numbers, ranges } = this.#state
    const left = Uint32Array.from(numbers.keys()).filter((i) => this.more(numbers[i]))
    if (left.length === 0) return undefined
    const tokens = readTokens(this.#parts, known)
    const further = { ...ranges, columns: { ...ranges.columns, tokens } }
    const state = {
      ...this.#state,
      numbers: left.map((i) => numbers[i]),
      ranges: mapColumns(further, left.length, (column) => pickValues(column, left)),
    }
    return fetchPage<K, P>(state, calls.connection.bounds(options))
  }
}

/** @throws WarpdexError `BAD_REQUEST` for a limit that no request may have */
export function firstPage<K extends KeyType, P extends PayloadKind>(
  calls: IndexCalls,
  options: RangesOptions<K>,
  known: KnownIndex,
  bounds: Bounds,
): Promise<RangesPage<K, P>> {
  const { limit } = options
  const ranges = { ...rangesOf(options, limit, known), version: versionOf(options) }
  if (options.from === undefined && options.to === undefined) {
    throw badRequest('ranges need from, to or both; entries() goes through a whole index')
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMITS.scanEntries) {
    throw badRequest(`the limit of ranges is 1 to ${LIMITS.scanEntries} entries, not ${limit}`)
  }
  const { count } = ranges
  const numbers = Uint32Array.from({ length: count }, (_, i) => i)
  return fetchPage({ calls, known, options, count, numbers, ranges }, bounds)
}

function fetchPage<K extends KeyType, P extends PayloadKind>(
  state: PageState,
  bounds: Bounds,
): Promise<RangesPage<K, P>> {
  const { calls, ranges } = state
  return calls.ask(
    state.known,
    ranges,
    bounds,
    (parts, known) => new RangesPage<K, P>({ ...state, known }, parts),
  )
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
