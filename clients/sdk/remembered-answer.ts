import { afterThis, type Bounds, withinBounds } from './call-options.js'

/** What is asked for once and shared by all calls that need it, until it is forgotten or could not be had. */
export class RememberedAnswer<T extends object> {
  /**
   * The answer, once all calls have gone on that waited for it: so those that need not wait for it, and go on at once, do not overtake
   * others.
   */
  known: T | undefined
  readonly #ask: () => Promise<T>
  #answer: Promise<T> | undefined
  /** What it is, once it has come. */
  #value: T | undefined

  /** @param ask asks without bounds, because all calls share the answer; each waits for it within its own */
  constructor(ask: () => Promise<T>) {
    this.#ask = ask
  }

  /** Whether calls wait for the answer. */
  get isAwaited(): boolean {
    return this.#answer !== undefined && this.known === undefined
  }

  /** Calls go on in their order, whatever their bounds: what has come is given to all in the same way, and waited for in the same way. */
  get(bounds: Bounds): Promise<T> {
    if (this.#answer !== undefined && this.#value !== undefined) return this.#answer
    return withinBounds(bounds, (resolve, reject) => {
      this.#answer ??= this.#first()
      this.#answer.then(resolve, reject)
    })
  }

  /** @param isStale whether the answer that has come, if it has, is to be forgotten; by default any is, and one that is awaited */
  forget(isStale?: (answer: T) => boolean): void {
    if (isStale !== undefined && (this.#value === undefined || !isStale(this.#value))) return
    this.#answer = undefined
    this.#value = undefined
    this.known = undefined
  }

  #first(): Promise<T> {
    const answer = this.#ask()
    const isLatest = () => this.#answer === answer
    answer.then(
      (value) => {
        if (isLatest()) this.#value = value
        afterThis(() => {
          if (isLatest()) this.known = value
        })
      },
      () => {
        if (isLatest()) this.forget()
      },
    )
    return answer
  }
}
