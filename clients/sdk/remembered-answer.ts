import { type Bounds, withinBounds } from './options.js'

/** What is asked for once and shared by all calls that need it, until it is forgotten or could not be had. */
export class RememberedAnswer<T> {
  readonly #ask: () => Promise<T>
  #answer: Promise<T> | undefined

  /** @param ask asks without bounds, because all calls share the answer; each waits for it within its own */
  constructor(ask: () => Promise<T>) {
    this.#ask = ask
  }

  get(bounds: Bounds): Promise<T> {
    return withinBounds(
      bounds,
      (resolve, reject) => {
        this.#answer ??= this.#ask().catch((error: unknown) => {
          this.#answer = undefined
          throw error
        })
        this.#answer.then(resolve, reject)
      },
      () => {},
    )
  }

  forget(): void {
    this.#answer = undefined
  }
}
