/** Where a server may be reached: one address, or those of the nodes of a replica set. */
export class Addresses {
  readonly #all: readonly string[]
  readonly #readsAny: boolean
  #next = 0
  /** To be tried first. */
  #preferred: string | undefined

  /** @param urls one or more */
  constructor(urls: string | readonly string[], reads: 'latest' | 'any' = 'latest') {
    this.#all = typeof urls === 'string' ? [urls] : urls
    this.#readsAny = reads === 'any'
  }

  get count(): number {
    return this.#all.length
  }

  /** The one to try now. */
  next(): string {
    const preferred = this.#preferred
    this.#preferred = undefined
    const url = preferred ?? this.#all[this.#next++ % this.#all.length] ?? ''
    if (!this.#readsAny || url.startsWith('ws+unix:')) return url
    return `${url}${url.includes('?') ? '&' : '?'}reads=any`
  }

  /** Has one be tried first, if it is known, the next time. */
  prefer(url: string | undefined): void {
    this.#preferred = url
  }
}
