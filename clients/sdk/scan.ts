import { columnOf } from '../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { type KeyType, type PayloadKind, tokenWidth } from '../../protocol/types.js'
import {
  ANYTHING,
  BYTES,
  CALL_OPTIONS,
  type CallOptions,
  checkOptions,
  type Kinds,
  NUMBER,
} from './call-options.js'
import type { DataCall } from './data-call.js'
import type { IndexCalls, KnownIndex } from './index-calls.js'
import type { KeyEnd, KeyPrefix } from './keys.js'
import { RANGE_ORDER, type RangeOrder, rangeOf } from './ranges.js'
import { eachEntry, type Part, readBytes, readGroups, readKeys, readPayloads, readTokens } from './reply.js'
import { KeysPage, ScanPage, ValuesPage } from './results.js'

/** A range of keys, and how to go through it. The deadline is that of each page. */
export interface ScanOptions<K extends KeyType> extends CallOptions, RangeOrder {
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
  ...CALL_OPTIONS,
}

const PAGE_ENTRIES = 8192

/** What a scan goes through: pages, which end at a token, and what lies in them one by one. */
interface Pages<Page> {
  /** Name of the method that gives it. */
  readonly method: string
  readonly asks: Pick<DataCall, 'withoutKeys' | 'withoutPayloads'>
  readonly read: (parts: readonly Part[], known: KnownIndex, token: Uint8Array) => Page
}

interface PageOf<Item> {
  readonly length: number
  readonly token: Uint8Array
  at(i: number): Item
}

/**
 * A scan: `for await` goes through what it finds, `pages()` through its pages without work for each entry. Every loop starts
 * anew. Each page shows the index as of its own request, and every entry that is there all along comes exactly once. Where the name has come to
 * mean another index between two pages, the next one fails with `INDEX_CHANGED`.
 */
export class Scan<K extends KeyType, Page extends PageOf<Item>, Item> implements AsyncIterable<Item> {
  readonly #calls: IndexCalls
  readonly #options: ScanOptions<K>
  readonly #pages: Pages<Page>

  /** @throws WarpdexError `BAD_REQUEST` */
  constructor(calls: IndexCalls, options: ScanOptions<K>, pages: Pages<Page>) {
    checkOptions(options, SCAN_OPTIONS, pages.method)
    const { pageSize = PAGE_ENTRIES } = options
    if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > LIMITS.scanEntries) {
      throw badRequest(`a page has 1 to ${LIMITS.scanEntries} entries, not ${pageSize}`)
    }
    this.#calls = calls
    this.#options = options
    this.#pages = pages
  }

  async *pages(): AsyncGenerator<Page, void, undefined> {
    const { limit = Number.POSITIVE_INFINITY, pageSize = PAGE_ENTRIES } = this.#options
    let { after } = this.#options
    let index: KnownIndex | undefined
    for (let left = Math.floor(limit); left > 0; ) {
      const { page, more, of } = await this.#fetch(Math.min(left, pageSize), after, index)
      if (page.length > 0) yield page
      if (!more) return
      left -= page.length
      after = page.token
      index = of
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) {
      for (let i = 0; i < page.length; i++) yield page.at(i)
    }
  }

  /** @param of the index that the pages before were of, if there were any */
  async #fetch(
    limit: number,
    after: Uint8Array | undefined,
    of: KnownIndex | undefined,
  ): Promise<FetchedPage<Page>> {
    const calls = this.#calls
    const { asks, read } = this.#pages
    const bounds = calls.connection.bounds(this.#options)
    const known = of ?? calls.definition.known ?? (await calls.definition.get(bounds))
    const tokens = after && columnOf([after], tokenWidth(known.keyType))
    const call = rangeOf(this.#options, limit, known)
    const asked = { ...call, ...asks, columns: { ...call.columns, tokens } }
    return calls.ask(known, asked, bounds, (parts, of) => {
      readGroups(parts)
      const page = read(parts, of, readTokens(parts, of).bytes)
      const more = readBytes(parts, 'more')[0] === 1
      if (more && page.length === 0) {
        throw new WarpdexError('INTERNAL', 'the server sent an empty page and says that there is more')
      }
      return { page, more, of }
    })
  }
}

/** A page, and whether there may be more after it. */
interface FetchedPage<Page> {
  readonly page: Page
  readonly more: boolean
  /** The index that it is of. */
  readonly of: KnownIndex
}

export function entryPages<K extends KeyType, P extends PayloadKind>(): Pages<ScanPage<K, P>> {
  return {
    method: 'entries',
    asks: {},
    read: (parts, known, token) =>
      new ScanPage(readKeys<K>(parts, known, eachEntry), readPayloads<P>(parts, known, eachEntry), token),
  }
}

export function keyPages<K extends KeyType>(): Pages<KeysPage<K>> {
  return {
    method: 'keys',
    asks: { withoutPayloads: true },
    read: (parts, known, token) => new KeysPage(readKeys<K>(parts, known, eachEntry), token),
  }
}

export function valuePages<P extends PayloadKind>(): Pages<ValuesPage<P>> {
  return {
    method: 'values',
    asks: { withoutKeys: true },
    read: (parts, known, token) => new ValuesPage(readPayloads<P>(parts, known, eachEntry), token),
  }
}
