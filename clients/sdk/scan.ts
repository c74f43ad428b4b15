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
import type { IndexCalls, KnownIndex } from './index-calls.js'
import type { Key, KeyEnd, KeyPrefix } from './keys.js'
import { RANGE_ORDER, type RangeOrder, rangeOf } from './ranges.js'
import { eachEntry, type Part, readBytes, readGroups, readKeys, readPayloads, readTokens } from './reply.js'
import { type Payload, ScanPage } from './results.js'

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

export interface ScanEntry<K extends KeyType, P extends PayloadKind> {
  readonly key: Key<K>
  readonly payload: Payload<P>
}

const PAGE_ENTRIES = 8192

/**
 * A scan: `for await` goes through its entries, `pages()` through its pages without work for each entry. Every loop starts
 * anew. Each page shows the index as of its own request, and every entry that is there all along comes exactly once. Where the index is
 * dropped and made anew between two pages, the next one fails with `INDEX_CHANGED`.
 */
export class Scan<K extends KeyType, P extends PayloadKind> implements AsyncIterable<ScanEntry<K, P>> {
  readonly #calls: IndexCalls
  readonly #options: ScanOptions<K>

  /** @throws WarpdexError `BAD_REQUEST` */
  constructor(calls: IndexCalls, options: ScanOptions<K>) {
    checkOptions(options, SCAN_OPTIONS, 'entries')
    const { pageSize = PAGE_ENTRIES } = options
    if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > LIMITS.scanEntries) {
      throw badRequest(`a page has 1 to ${LIMITS.scanEntries} entries, not ${pageSize}`)
    }
    this.#calls = calls
    this.#options = options
  }

  async *pages(): AsyncGenerator<ScanPage<K, P>, void, undefined> {
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

  async *[Symbol.asyncIterator](): AsyncGenerator<ScanEntry<K, P>, void, undefined> {
    for await (const page of this.pages()) {
      for (let i = 0; i < page.length; i++) yield { key: page.key(i), payload: page.payloads.at(i) }
    }
  }

  /** @param of the index that the pages before were of, if there were any */
  async #fetch(
    limit: number,
    after: Uint8Array | undefined,
    of: KnownIndex | undefined,
  ): Promise<FetchedPage<K, P>> {
    const calls = this.#calls
    const bounds = calls.connection.bounds(this.#options)
    const known = of ?? calls.definition.known ?? (await calls.definition.get(bounds))
    const tokens = after && columnOf([after], tokenWidth(known.keyType))
    const call = rangeOf(this.#options, limit, known)
    return calls.ask(known, { ...call, columns: { ...call.columns, tokens } }, bounds, pageOf<K, P>)
  }
}

function pageOf<K extends KeyType, P extends PayloadKind>(
  parts: readonly Part[],
  known: KnownIndex,
): FetchedPage<K, P> {
  readGroups(parts)
  const page = new ScanPage<K, P>(
    readKeys<K>(parts, known, eachEntry),
    readPayloads<P>(parts, known, eachEntry),
    readTokens(parts, known).bytes,
  )
  const more = readBytes(parts, 'more')[0] === 1
  if (more && page.length === 0) {
    throw new WarpdexError('INTERNAL', 'the server sent an empty page and says that there is more')
  }
  return { page, more, of: known }
}

/** A page, and whether there may be more after it. */
interface FetchedPage<K extends KeyType, P extends PayloadKind> {
  readonly page: ScanPage<K, P>
  readonly more: boolean
  /** The index that it is of. */
  readonly of: KnownIndex
}
