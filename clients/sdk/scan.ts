import { type Column, columnOf, valueAt } from '../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type KeyType, type PayloadKind, tokenWidth } from '../../protocol/types.js'
import { ANYTHING, type Bounds, BYTES, checkOptions, type Kinds, NUMBER } from './call-options.js'
import type { DataCall } from './data-call.js'
import type { IndexCalls, KnownIndex } from './index-calls.js'
import type { KeyEnd, KeyPrefix } from './keys.js'
import { PageItems, type PageOf } from './page-items.js'
import { RANGE_ORDER, type RangeOrder, rangeOf } from './ranges.js'
import { eachEntry, type Part, readBytes, readGroups, readKeys, readPayloads, readTokens } from './reply.js'
import { KeysPage, type KeyVector, ScanPage, ValuesPage } from './results.js'
import { READ_AT_OPTIONS, type ReadAtOptions, Snapshot, versionOf } from './snapshot.js'

/** A range of keys, and how to go through it. The deadline is that of each page. */
export interface ScanOptions<K extends KeyType> extends ReadAtOptions, RangeOrder {
  /** Smallest key; from the smallest of the index by default. Leading parts of a tuple stand for all keys that begin with them. */
  readonly from?: KeyEnd<K> | undefined
  /** Largest key; to the largest of the index by default. */
  readonly to?: KeyEnd<K> | undefined
  /** What all keys begin with, instead of `from` and `to`: a text, bytes, or leading parts of a tuple. */
  readonly prefix?: KeyPrefix<K> | undefined
  /** Entries in all; no limit by default. */
  readonly limit?: number | undefined
  /** Entries of a page. */
  readonly pageSize?: number | undefined
  /** Token of a page, to continue after it. */
  readonly after?: Uint8Array | undefined
}

const SCAN_OPTIONS: Kinds<ScanOptions<KeyType>> = {
  from: ANYTHING,
  to: ANYTHING,
  prefix: ANYTHING,
  ...RANGE_ORDER,
  limit: NUMBER,
  pageSize: NUMBER,
  after: BYTES,
  ...READ_AT_OPTIONS,
}

const PAGE_ENTRIES = 8192

/** Pages of up to so many entries are asked for together with others of the turn: they take less than a request does. */
const SHORT_PAGE = 256

/** What a scan goes through: pages, which end at a token, and what lies in them one by one. */
export interface Pages<Page> {
  /** Name of the method that gives it. */
  readonly method: string
  readonly asks: Pick<DataCall, 'withoutKeys' | 'withoutPayloads' | 'withExpireAt'>
  readonly read: (parts: readonly Part[], known: KnownIndex, token: Uint8Array) => Page
  /** The page of one range out of those that were asked for together: entries number `first` to before `end`. */
  readonly part: (page: Page, first: number, end: number, token: Uint8Array) => Page
}

/** A page that a scan can be continued behind. */
interface ScannedPage<Item> extends PageOf<Item> {
  readonly token: Uint8Array
}

/** The first page of a scan. */
export interface FirstPage<Page> {
  readonly page: Page
  /** Whether there may be more behind it. */
  readonly more: boolean
  /** What the pages behind it are to see. */
  readonly snapshot: Snapshot | undefined
}

/**
 * A scan: `for await` goes through what it finds, `pages()` through its pages without work for each entry. Every loop starts
 * anew. All pages show one moment, that of the first or of `snapshot`; a page of a loop that stood still for ten minutes fails with `VERSION_GONE`.
 * Where the name has come to mean another index between two pages, the next one fails with `INDEX_CHANGED`.
 */
export class Scan<K extends KeyType, Page extends ScannedPage<Item>, Item> implements AsyncIterable<Item> {
  readonly #calls: IndexCalls
  readonly #options: ScanOptions<K>
  readonly #limit: number
  readonly #pageSize: number
  readonly #pages: Pages<Page>

  /** @throws WarpdexError `BAD_REQUEST` */
  constructor(calls: IndexCalls, options: ScanOptions<K>, pages: Pages<Page>) {
    checkOptions(options, SCAN_OPTIONS, pages.method)
    const { limit = Number.POSITIVE_INFINITY, pageSize = PAGE_ENTRIES } = options
    if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > LIMITS.scanEntries) {
      throw badRequest(`a page has 1 to ${LIMITS.scanEntries} entries, not ${pageSize}`)
    }
    this.#calls = calls
    this.#options = options
    this.#limit = Math.floor(limit)
    this.#pageSize = pageSize
    this.#pages = pages
  }

  /**
   * The first page alone, which is asked for before this returns. Where there is more behind it, and a scan without a limit, or with one over its
   * page's, goes on to that, `snapshot` is what the page shows: other reads of the index may name it until it is closed, or was not read for ten minutes.
   */
  async firstPage(): Promise<FirstPage<Page>> {
    const { page, more, snapshot } = await this.#first()
    return { page, more, snapshot }
  }

  async *pages(): AsyncGenerator<Page, void, undefined> {
    let left = this.#limit
    if (left <= 0) return
    const { snapshot, ...first } = await this.#first()
    let { page, more, of } = first
    try {
      for (;;) {
        if (page.length > 0) yield page
        left -= page.length
        if (!more || left <= 0) return
        const place = { after: page.token, of, version: snapshot?.version }
        ;({ page, more, of } = await this.#fetch(Math.min(left, this.#pageSize), place))
      }
    } finally {
      if (snapshot !== this.#options.snapshot) void snapshot?.close()
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<Item, void, undefined> {
    return new PageItems(this.pages())
  }

  /** @param mayGoOn whether there may be pages behind it, which are to see what it sees */
  async #first(mayGoOn = this.#limit > this.#pageSize): Promise<FetchedPage<Page> & FirstPage<Page>> {
    const { after, snapshot } = this.#options
    const limit = Math.min(this.#limit, this.#pageSize)
    const { connection } = this.#calls
    const given = versionOf(this.#options)
    const own = given === undefined && mayGoOn ? connection.newVersion() : undefined
    const place = { after, of: undefined, version: own ?? given, opensVersion: own !== undefined }
    const first = await this.#fetch(limit, place)
    // Payloads have filled a reply before the page was full.
    if (first.more && first.page.length < limit && place.version === undefined) return this.#first(true)
    return { ...first, snapshot: own !== undefined && first.more ? new Snapshot(connection, own) : snapshot }
  }

  async #fetch(limit: number, { after, of, ...version }: Place): Promise<FetchedPage<Page>> {
    const calls = this.#calls
    const { asks, read } = this.#pages
    const bounds = calls.connection.bounds(this.#options)
    const known = of ?? calls.definition.known ?? (await calls.definition.get(bounds))
    const tokens = after && columnOf([after], tokenWidth(known.keyType))
    const call = rangeOf(this.#options, limit, known)
    const asked = { ...call, ...asks, ...version, columns: { ...call.columns, tokens } }
    const ask = (whole: DataCall, known: KnownIndex, bounds: Bounds) =>
      calls.ask(known, whole, bounds, (parts, of): FetchedPages<Page> => {
        const offsets = readGroups(parts)
        const ends = readTokens(parts, of)
        return { page: read(parts, of, ends.bytes), offsets, ends, more: readBytes(parts, 'more'), of }
      })
    const pick = (pages: FetchedPages<Page>, i: number) => this.#pageOf(pages, i)
    const { from, to } = call.columns
    // Those that begin and end with the index are told apart by nothing.
    const isApart = from !== undefined || to !== undefined || tokens !== undefined
    if (limit <= SHORT_PAGE && isApart) return calls.shared.make(asked, known, bounds, ask, pick)
    return pick(await ask(asked, known, bounds), 0)
  }

  #pageOf({ page, offsets, ends, more, of }: FetchedPages<Page>, i: number): FetchedPage<Page> {
    const [first, end] = [offsets[i], offsets[i + 1]]
    if (more[i] === 1 && first === end) {
      throw new WarpdexError('INTERNAL', 'the server sent an empty page and says that there is more')
    }
    const isWhole = more.length === 1
    const own = isWhole ? page : this.#pages.part(page, first, end, valueAt(ends, i).slice())
    return { page: own, more: more[i] === 1, of }
  }
}

/** Where a scan goes on, and as of what. */
interface Place extends Pick<DataCall, 'version' | 'opensVersion'> {
  readonly after: Uint8Array | undefined
  /** The index that the pages before were of, if there were any. */
  readonly of: KnownIndex | undefined
}

/** Pages of several scans that were asked for together, one after the other. */
interface FetchedPages<Page> {
  readonly page: Page
  /** Where in it each begins. */
  readonly offsets: Uint32Array
  /** The token of each. */
  readonly ends: Column
  /** Whether there may be more after each: 1 or 0. */
  readonly more: Uint8Array
  /** The index that they are of. */
  readonly of: KnownIndex
}

/** A page, and whether there may be more after it. */
interface FetchedPage<Page> extends Omit<FirstPage<Page>, 'snapshot'> {
  /** The index that it is of. */
  readonly of: KnownIndex
}

export function entryPages<K extends KeyType, P extends PayloadKind>(): Pages<ScanPage<K, P>> {
  return {
    method: 'entries',
    asks: {},
    read: (parts, known, token) =>
      new ScanPage(readKeys<K>(parts, known, eachEntry), readPayloads<P>(parts, known, eachEntry), token),
    // The part of a column of keys is one of the same type.
    part: ({ keys, payloads }, first, end, token) =>
      new ScanPage(keys.subarray(first, end) as KeyVector<K>, payloads.part(first, end), token),
  }
}

export function keyPages<K extends KeyType>(): Pages<KeysPage<K>> {
  return {
    method: 'keys',
    asks: { withoutPayloads: true },
    read: (parts, known, token) => new KeysPage(readKeys<K>(parts, known, eachEntry), token),
    part: ({ keys }, first, end, token) => new KeysPage(keys.subarray(first, end) as KeyVector<K>, token),
  }
}

export function valuePages<P extends PayloadKind>(): Pages<ValuesPage<P>> {
  return {
    method: 'values',
    asks: { withoutKeys: true },
    read: (parts, known, token) => new ValuesPage(readPayloads<P>(parts, known, eachEntry), token),
    part: ({ payloads }, first, end, token) => new ValuesPage(payloads.part(first, end), token),
  }
}
