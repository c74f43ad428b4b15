import { pickValues } from '../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { KeyType, PayloadKind } from '../../protocol/types.js'
import { ANYTHING, type Bounds, checkOptions, type Kinds, NUMBER } from './call-options.js'
import { mapColumns } from './data-call.js'
import type { IndexCalls, KnownIndex } from './index-calls.js'
import type { KeyEnd, Keys } from './keys.js'
import { PageItems } from './page-items.js'
import { RANGE_ORDER, type RangeOrder, rangesOf, type ScanCall } from './ranges.js'
import { eachEntry, type Part, readBytes, readGroups, readKeys, readPayloads, readTokens } from './reply.js'
import { Entries, type KeyVector, type ScanEntry } from './results.js'
import { READ_AT_OPTIONS, type ReadAtOptions, versionOf } from './snapshot.js'

/** Ranges of keys: one for each of `from`, of `to`, or of both together. The deadline is that of each page. */
export interface RangesOptions<K extends KeyType> extends ReadAtOptions, RangeOrder {
  /** Smallest key of each range; from the smallest of the index by default. Leading parts of a tuple stand for all that have them. */
  readonly from?: Keys<K> | readonly KeyEnd<K>[] | undefined
  /** Largest key of each range; to the largest of the index by default. */
  readonly to?: Keys<K> | readonly KeyEnd<K>[] | undefined
  /** Entries of each range that a page has at most; fewer where the payloads would be too large for a frame. */
  readonly pageSize: number
}

const RANGES_OPTIONS: Kinds<RangesOptions<KeyType>> = {
  from: ANYTHING,
  to: ANYTHING,
  ...RANGE_ORDER,
  pageSize: NUMBER,
  ...READ_AT_OPTIONS,
}

/** An entry of one of many ranges. */
export interface RangeEntry<K extends KeyType, P extends PayloadKind> extends ScanEntry<K, P> {
  /** Number of the range. */
  readonly range: number
}

/**
 * Scans of many ranges, in as few requests as it takes: `for await` goes through their entries, `pages()` through pages without work for each entry. A page
 * has the next entries of every range that is not at its end, so the entries of a range come in their order, but between those of others. Every loop starts anew.
 */
export class Ranges<K extends KeyType, P extends PayloadKind> implements AsyncIterable<RangeEntry<K, P>> {
  readonly #calls: IndexCalls
  readonly #options: RangesOptions<K>

  /** @throws WarpdexError `BAD_REQUEST` */
  constructor(calls: IndexCalls, options: RangesOptions<K>) {
    if (Object(options).prefix !== undefined) {
      throw badRequest(
        'ranges has from and to, and no prefix; entries({prefix}) goes through the keys that begin with one, and leading parts of tuples as from and to are prefixes',
      )
    }
    checkOptions(options, RANGES_OPTIONS, 'ranges')
    const { from, to, pageSize } = options
    if (from === undefined && to === undefined) {
      throw badRequest('ranges need from, to or both; entries() goes through a whole index')
    }
    if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > LIMITS.scanEntries) {
      throw badRequest(`a page of ranges has 1 to ${LIMITS.scanEntries} entries of each, not ${pageSize}`)
    }
    this.#calls = calls
    this.#options = options
  }

  /** The first page alone, which is asked for before this returns. */
  firstPage(): Promise<RangesPage<K, P>> {
    return this.#first().then(({ page }) => page)
  }

  async *pages(): AsyncGenerator<RangesPage<K, P>, void, undefined> {
    let fetched: FetchedPage<K, P> | undefined = await this.#first()
    for (; fetched !== undefined; fetched = await this.#next(fetched)) yield fetched.page
  }

  [Symbol.asyncIterator](): AsyncIterator<RangeEntry<K, P>, void, undefined> {
    return new PageItems(this.pages())
  }

  #first(): Promise<FetchedPage<K, P>> {
    return this.#calls.begin('ranges', this.#options, RANGES_OPTIONS, (known, bounds) => {
      const asked = {
        ...rangesOf(this.#options, this.#options.pageSize, known),
        version: versionOf(this.#options),
      }
      const { count } = asked
      const numbers = Uint32Array.from({ length: count }, (_, i) => i)
      return this.#fetch({ known, count, numbers, asked }, bounds)
    })
  }

  /** The next page of all ranges that may have more entries; undefined when no range has. */
  async #next({ page, parts, place }: FetchedPage<K, P>): Promise<FetchedPage<K, P> | undefined> {
    const { known, numbers, asked } = place
    const left = Uint32Array.from(numbers.keys()).filter((i) => page.more(numbers[i]))
    if (left.length === 0) return undefined
    const tokens = readTokens(parts, known)
    const further = { ...asked, columns: { ...asked.columns, tokens } }
    const next = {
      ...place,
      numbers: left.map((i) => numbers[i]),
      asked: mapColumns(further, left.length, (column) => pickValues(column, left)),
    }
    return this.#fetch(next, this.#calls.connection.bounds(this.#options))
  }

  #fetch(place: Place, bounds: Bounds): Promise<FetchedPage<K, P>> {
    return this.#calls.ask(place.known, place.asked, bounds, (parts, known) => {
      const { count, numbers } = place
      const groups = readGroups(parts)
      const flags = readBytes(parts, 'more')
      if (numbers.some((_, i) => flags[i] === 1 && groups[i] === groups[i + 1])) {
        throw new WarpdexError(
          'INTERNAL',
          'the server sent a range without entries and says that it has more',
        )
      }
      const more = new Uint8Array(count)
      for (let i = 0; i < numbers.length; i++) more[numbers[i]] = flags[i]
      const entries = new Entries(
        readKeys<K>(parts, known, eachEntry),
        readPayloads<P>(parts, known, eachEntry),
      )
      const page = new RangesPage(entries, spreadOffsets(groups, numbers, count), more)
      return { page, parts, place: { ...place, known } }
    })
  }
}

/** Where each range goes on. */
interface Place {
  /** The index that the pages before were of. */
  readonly known: KnownIndex
  /** How many ranges the scan began with. */
  readonly count: number
  /** Those of them that a page is asked for. */
  readonly numbers: Uint32Array
  readonly asked: ScanCall
}

interface FetchedPage<K extends KeyType, P extends PayloadKind> {
  readonly page: RangesPage<K, P>
  readonly parts: readonly Part[]
  readonly place: Place
}

/** The next entries of each range. Ranges keep their numbers over all pages; a finished one has no entries. */
export class RangesPage<K extends KeyType, P extends PayloadKind> extends Entries<K, P> {
  /** Number of ranges. */
  readonly ranges: number
  /** Entries of range i are number offsets[i] to offsets[i + 1] of `keys` and `payloads`. */
  readonly offsets: Uint32Array
  readonly #more: Uint8Array

  constructor({ keys, payloads }: Entries<K, P>, offsets: Uint32Array, more: Uint8Array) {
    super(keys, payloads)
    this.ranges = more.length
    this.offsets = offsets
    this.#more = more
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

  /** Entry number i of the page. */
  at(i: number): RangeEntry<K, P> {
    // The last range that begins at the entry or before it: those in front of it that begin there are empty.
    let range = 0
    for (let end = this.ranges; end - range > 1; ) {
      const middle = (range + end) >> 1
      if (this.offsets[middle] <= i) range = middle
      else end = middle
    }
    return { range, key: this.key(i), payload: this.payloads.at(i) }
  }
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
