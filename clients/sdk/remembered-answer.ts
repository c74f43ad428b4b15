import { afterThis, type Bounds, withinBounds } from './bounds.js'

interface Answer<T> {
  readonly promise: Promise<T>
  /** What it is, once it has come. */
  value?: T
  /** All calls that waited for it have gone on. */
  isKnown: boolean
}

/** What is asked for once and shared by all calls that need it, until it is forgotten or could not be had. */
export class RememberedAnswer<T extends object> {
  readonly #ask: () => Promise<T>
  #answer: Answer<T> | undefined

  /** @param ask asks without bounds, because all calls share the answer; each waits for it within its own */
  constructor(ask: () => Promise<T>) {
    this.#ask = ask
  }

  /**
   * The answer, once all calls have gone on that waited for it: so those that need not wait for it, and go on at once, do not overtake
   * others.
   */
  get known(): T | undefined {
    return this.#answer?.isKnown ? this.#answer.value : undefined
  }

  /** Whether calls wait for the answer. */
  get isAwaited(): boolean {
    return this.#answer?.isKnown === false
  }

  /** Calls go on in their order, whatever their bounds: what has come is given to all in the same way, and waited for in the same way. */
  get(bounds: Bounds): Promise<T> {
    if (this.#answer?.value !== undefined) return this.#answer.promise
    return withinBounds(bounds, (resolve, reject) => {
      this.#answer ??= this.#first()
      this.#answer.promise.then(resolve, reject)
    })
  }

  /** @param isStale whether the answer that has come, if it has, is to be forgotten; by default any is, and one that is awaited */
  forget(isStale?: (answer: T) => boolean): void {
    const value = this.#answer?.value
    if (isStale === undefined || (value !== undefined && isStale(value))) this.#answer = undefined
  }

  #first(): Answer<T> {
    const answer: Answer<T> = { promise: this.#ask(), isKnown: false }
    answer.promise.then(
      (value) => {
        answer.value = value
        afterThis(() => {
          answer.isKnown = true
        })
      },
      () => {
        if (this.#answer === answer) this.#answer = undefined
      },
    )
    return answer
  }
}
