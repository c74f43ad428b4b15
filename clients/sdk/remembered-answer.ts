import { type Bounds, withinBounds } from './options.js'

/** What is asked for once and shared by all calls that need it, until it is forgotten or could not be had. */
export class RememberedAnswer<T> {
  readonly #ask: () => Promise<T>
  #answer: Promise<T> | undefined
  /** The answer that has come. */
  #settled: Promise<T> | undefined

  /** @param ask asks without bounds, because all calls share the answer; each waits for it within its own */
  constructor(ask: () => Promise<T>) {
    this.#ask = ask
  }

  /** Calls go on in their order, whatever their bounds: what has come is given to all in the same way, and waited for in the same way. */
  get(bounds: Bounds): Promise<T> {
    if (this.#settled !== undefined) return this.#settled
    return withinBounds(
      bounds,
      (resolve, reject) => {
        this.#answer ??= this.#first()
        this.#answer.then(resolve, reject)
      },
      () => {},
    )
  }

  forget(): void {
    this.#answer = undefined
    this.#settled = undefined
  }

  #first(): Promise<T> {
    const answer = this.#ask()
    answer.then(
      () => {
        if (this.#answer === answer) this.#settled = answer
      },
      () => {
        if (this.#answer === answer) this.#answer = undefined
      },
    )
    return answer
  }
}
