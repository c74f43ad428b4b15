import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { KeyType, PayloadKind } from '../../protocol/types.js'
import { ANYTHING, BYTES, FLAG, type Kinds, NUMBER } from './check-options.js'
import type { KnownIndex } from './index-calls.js'
import type { Key, KeyEnd, KeyPrefix } from './keys.js'
import { CALL_OPTIONS, type CallOptions } from './options.js'
import type { Payload } from './payloads.js'
import type { ScanPage } from './results.js'

/** A range of keys, and how to go through it. The deadline is that of each page. */
export interface ScanOptions<K extends KeyType> extends CallOptions {
  /** Smallest key; from the smallest of the index by default. Leading parts of a tuple stand for all keys that begin with them. */
  readonly from?: KeyEnd<K> | undefined
  /** Largest key; to the largest of the index by default. */
  readonly to?: KeyEnd<K> | undefined
  /** What all keys begin with, instead of `from` and `to`: a text, bytes, or leading parts of a tuple. */
  readonly prefix?: KeyPrefix<K> | undefined
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
  /** From the largest key down, and within a key from the last payload to the first. */
  readonly reverse?: boolean | undefined
  /** Entries in all; no limit by default. */
  readonly limit?: number | undefined
  /** Entries of a page. */
  readonly pageSize?: number | undefined
  /** Token of a page, to continue after it. */
  readonly after?: Uint8Array | undefined
}

export const SCAN_OPTIONS: Kinds<ScanOptions<KeyType>> = {
  from: ANYTHING,
  to: ANYTHING,
  prefix: ANYTHING,
  fromExclusive: FLAG,
  toExclusive: FLAG,
  reverse: FLAG,
  limit: NUMBER,
  pageSize: NUMBER,
  after: BYTES,
  ...CALL_OPTIONS,
}

export interface ScanEntry<K extends KeyType, P extends PayloadKind> {
  readonly key: Key<K>
  readonly payload: Payload<P>
}

/** A page, and whether there may be more after it. */
export interface FetchedPage<K extends KeyType, P extends PayloadKind> {
  readonly page: ScanPage<K, P>
  readonly more: boolean
  /** The index that it is of. */
  readonly of: KnownIndex
}

/** Of the index that the pages before were of, if there were any. */
type FetchPage<K extends KeyType, P extends PayloadKind> = (
  limit: number,
  after: Uint8Array | undefined,
  of: KnownIndex | undefined,
) => Promise<FetchedPage<K, P>>

const PAGE_ENTRIES = 8192

/**
 * A scan: `for await` goes through its entries, `pages()` through its pages without work for each entry. Every loop starts
 * anew. Each page shows the index as of its own request, and every entry that is there all along comes exactly once. Where the index is
 * dropped and made anew between two pages, the next one fails with `INDEX_CHANGED`.
 */
export class Scan<K extends KeyType, P extends PayloadKind> implements AsyncIterable<ScanEntry<K, P>> {
  readonly #fetch: FetchPage<K, P>
  readonly #limit: number
  readonly #pageSize: number
  readonly #after: Uint8Array | undefined

  /** @throws WarpdexError `BAD_REQUEST` */
  constructor(fetch: FetchPage<K, P>, options: ScanOptions<K>) {
    const { limit = Number.POSITIVE_INFINITY, pageSize = PAGE_ENTRIES } = options
    if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > LIMITS.scanEntries) {
      const message = `a page has 1 to ${LIMITS.scanEntries} entries, not ${pageSize}`
      throw badRequest(message)
    }
    this.#fetch = fetch
    this.#limit = Math.floor(limit)
    this.#pageSize = pageSize
    this.#after = options.after
  }

  async *pages(): AsyncGenerator<ScanPage<K, P>, void, undefined> {
    let left = this.#limit
    let after = this.#after
    let index: KnownIndex | undefined
    while (left > 0) {
      const { page, more, of } = await this.#fetchWhatFits(Math.min(left, this.#pageSize), after, index)
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

  /** Large payloads or keys may be too much for one frame: then the page gets smaller. */
  async #fetchWhatFits(...[limit, after, of]: Parameters<FetchPage<K, P>>): Promise<FetchedPage<K, P>> {
    try {
      return await this.#fetch(limit, after, of)
    } catch (error) {
      const tooLarge = error instanceof WarpdexError && error.code === 'TOO_LARGE'
      if (!tooLarge || limit === 1) throw error
      return this.#fetchWhatFits(limit >> 1, after, of)
    }
  }
}
