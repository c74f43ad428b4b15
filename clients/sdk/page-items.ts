/** Some of what is gone through. */
export interface PageOf<Item> {
  readonly length: number
  at(i: number): Item
}

type Step<Item> = IteratorResult<Item, void>

/** Goes through what lies in pages, one by one. An asynchronous generator would take about as long for each item as to read it. */
export class PageItems<Item> implements AsyncIterator<Item, void, undefined> {
  readonly #pages: AsyncGenerator<PageOf<Item>, void, undefined>
  #page: PageOf<Item> | undefined
  /** The next item of the page. */
  #place = 0
  /** The last call that waits for a page; those after it wait for it. */
  #waiting: Promise<Step<Item>> | undefined

  constructor(pages: AsyncGenerator<PageOf<Item>, void, undefined>) {
    this.#pages = pages
  }

  next(): Promise<Step<Item>> {
    const page = this.#page
    if (this.#waiting === undefined && page !== undefined && this.#place < page.length) {
      try {
        return Promise.resolve({ value: page.at(this.#place++), done: false })
      } catch (error) {
        return Promise.reject(error)
      }
    }
    const turn = () => this.#turn()
    const step = this.#waiting === undefined ? turn() : this.#waiting.then(turn, turn)
    this.#waiting = step
    const forget = () => {
      if (this.#waiting === step) this.#waiting = undefined
    }
    step.then(forget, forget)
    return step
  }

  async return(): Promise<Step<Item>> {
    this.#page = undefined
    await this.#pages.return()
    return { value: undefined, done: true }
  }

  /** The next item, for which the next page is waited for where this one is at its end. */
  async #turn(): Promise<Step<Item>> {
    while (this.#page === undefined || this.#place >= this.#page.length) {
      const { value, done } = await this.#pages.next()
      if (done) return { value: undefined, done: true }
      this.#page = value
      this.#place = 0
    }
    return { value: this.#page.at(this.#place++), done: false }
  }
}
