import { AbstractIterator, type AbstractIteratorOptions, type AbstractLevel } from 'abstract-level'
import type { FirstPage, Index, KeysPage, ReadAtOptions, ScanOptions, ScanPage } from '../sdk/index.js'
import { type BytesRange, compareKeys, isWithin, type KeyBounds, rangeOf } from './range.js'

/** As AbstractLevel hands them on: ends of the range are encoded. */
export type IteratorOptions<K, V> = AbstractIteratorOptions<K, V> & KeyBounds

/** With payloads unless only keys are wanted. Payloads alone are not asked for: whoever seeks needs keys. */
type Page = KeysPage<'bytes'> | ScanPage<'bytes', 'bytes'>
type Entry = [key: Uint8Array, value: Uint8Array | undefined]

/**
 * Entries of the first page. Those after it have eight times as many, up to the most: so a loop that is left early has not had much sent, and a long
 * one does not wait often.
 */
const FIRST_PAGE = 256
const GROWTH = 8
const MOST_PAGE = 8192

/** Reads as of the iterator's explicit snapshot, if it has one. */
type ReadAt = <T>(read: (at: ReadAtOptions) => Promise<T>) => Promise<T>

/**
 * Goes through a range page by page. The first page is asked for when the iterator is made, whose moment it shows. If it has all of the range, seeks
 * stay within it, and nobody keeps anything; else its snapshot is what further pages see, wherever a seek leads. Only where a limit lets
 * the first page be the last one there is no snapshot, since the next write would have the whole index copied for it: what
 * such an iterator reads after a seek is as of then.
 */
export class LevelIterator<D extends AbstractLevel<Uint8Array, K, V>, K, V> extends AbstractIterator<
  D,
  K,
  V
> {
  readonly #index: Index<'bytes', 'bytes'>
  readonly #options: BytesRange & Pick<ScanOptions<'bytes'>, 'reverse' | 'signal'>
  readonly #hasValues: boolean
  /** Whether all is read as of an explicit snapshot, which is not the iterator's to close. */
  readonly #isFixed: boolean
  readonly #first: Promise<FirstPage<Page>>
  /** What is being gone through since the first page. */
  #later: FirstPage<Page> | undefined
  /** The next entry in its page. */
  #place = 0
  /** Where to go on, since the last seek. */
  #target: Uint8Array | undefined
  #pageSize = FIRST_PAGE * GROWTH

  constructor(db: D, options: IteratorOptions<K, V>, index: Index<'bytes', 'bytes'>, readAt: ReadAt) {
    super(db, options)
    this.#index = index
    this.#options = { ...rangeOf(options), reverse: options.reverse, signal: options.signal }
    this.#hasValues = options.values !== false
    this.#isFixed = options.snapshot !== undefined
    // A request is for one entry at least: where none is wanted, nobody reads it.
    const limit = Math.max(this.limit, 1)
    const size = { limit, pageSize: Math.min(limit, FIRST_PAGE) }
    this.#first = readAt((at) => this.#scan({ ...size, ...at }))
    // Whoever reads it is told.
    this.#first.catch(() => {})
  }

  async _next(): Promise<Entry | undefined> {
    const page = await this.#reach(1)
    return this.#place < page.length ? this.#take(page) : undefined
  }

  async _nextv(size: number): Promise<Entry[]> {
    const page = await this.#reach(size)
    const entries: Entry[] = []
    while (entries.length < size && this.#place < page.length) entries.push(this.#take(page))
    return entries
  }

  async _all(): Promise<Entry[]> {
    const most = this.limit - this.count
    const all: Entry[] = []
    while (all.length < most) {
      const entries = await this._nextv(Math.min(most - all.length, MOST_PAGE))
      if (entries.length === 0) break
      for (const entry of entries) all.push(entry)
    }
    return all
  }

  _seek(target: Uint8Array): void {
    this.#target = target
  }

  async _close(): Promise<void> {
    if (this.#isFixed) return
    // Nobody waits until the server has heard of it.
    const end = ({ snapshot }: FirstPage<Page>) => void snapshot?.close()
    await this.#first.then(end, () => {})
  }

  #take(page: Page): Entry {
    const i = this.#place++
    return [page.keys.at(i), 'payloads' in page ? page.payloads.at(i) : undefined]
  }

  /**
   * The page that has the next entry, at its place; where there is none the place is the page's end.
   * @param wanted entries
   */
  async #reach(wanted: number): Promise<Page> {
    try {
      const first = await this.#first
      if (this.#target !== undefined) await this.#goTo(this.#target, first, wanted)
      this.#target = undefined
      const { page, more } = this.#later ?? first
      if (this.#place === page.length && more) await this.#fetch({ after: page.token }, first, wanted)
      return (this.#later ?? first).page
    } catch (error) {
      throw this.#options.signal?.aborted ? new AbortError(error) : error
    }
  }

  /** Goes to the first entry that is not before a key. */
  async #goTo(target: Uint8Array, first: FirstPage<Page>, wanted: number): Promise<void> {
    const { reverse } = this.#options
    const isInside = isWithin(target, this.#options)
    if (isInside && first.more) {
      this.#pageSize = FIRST_PAGE
      const start = reverse ? { to: target, toExclusive: false } : { from: target, fromExclusive: false }
      return this.#fetch(start, first, wanted)
    }
    const { page } = first
    const isReached = (key: Uint8Array) => compareKeys(key, target) * (reverse ? -1 : 1) >= 0
    this.#later = { ...first, more: false }
    this.#place = 0
    while (this.#place < page.length && !(isInside && isReached(page.keys.at(this.#place)))) this.#place++
  }

  /** Fetches the next page, from a place on. */
  async #fetch(start: ScanOptions<'bytes'>, { snapshot }: FirstPage<Page>, wanted: number): Promise<void> {
    const size = Math.max(this.#pageSize, Math.min(wanted, MOST_PAGE))
    const limit = Math.min(size, this.limit - this.count)
    this.#pageSize = Math.min(GROWTH * this.#pageSize, MOST_PAGE)
    this.#later = await this.#scan({ ...start, limit, pageSize: limit, snapshot })
    this.#place = 0
  }

  #scan(options: ScanOptions<'bytes'>): Promise<FirstPage<Page>> {
    const whole = { ...this.#options, ...options }
    return this.#hasValues ? this.#index.entries(whole).firstPage() : this.#index.keys(whole).firstPage()
  }
}

class AbortError extends Error {
  readonly code = 'LEVEL_ABORTED'
  override readonly name = 'AbortError'

  constructor(cause: unknown) {
    super('Operation has been aborted', { cause })
  }
}
