/** A batch of answers, by the place of their keys. */
interface Answers<T> {
  payload(i: number): T | undefined
}

interface Waiting<K, T> {
  readonly key: K
  readonly resolve: (payload: T | undefined) => void
  readonly reject: (reason: unknown) => void
}

/** In Node the end of the event loop's turn gathers more than the end of the microtask queue; browsers have only the latter. */
const defer: (run: () => void) => void = typeof setImmediate === 'function' ? setImmediate : queueMicrotask

/** Gathers the keys that are asked for one by one within a turn, and asks for them together. */
export class GetBatcher<K, T> {
  readonly #getMany: (keys: readonly K[]) => Promise<Answers<T>>
  #waiting: Waiting<K, T>[] = []

  constructor(getMany: (keys: readonly K[]) => Promise<Answers<T>>) {
    this.#getMany = getMany
  }

  get(key: K, resolve: (payload: T | undefined) => void, reject: (reason: unknown) => void): void {
    if (this.#waiting.length === 0) defer(() => void this.#flush())
    this.#waiting.push({ key, resolve, reject })
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting
    this.#waiting = []
    try {
      const answers = await this.#getMany(batch.map(({ key }) => key))
      batch.forEach(({ resolve }, i) => {
        resolve(answers.payload(i))
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}
