import type { KnownIndex } from './index-calls.js'

/** A batch of answers, by the place of their keys. */
interface Answers<T> {
  payload(i: number): T | undefined
}

interface Waiting<K, T> {
  readonly key: K
  readonly resolve: (payload: T | undefined) => void
  readonly reject: (reason: unknown) => void
}

/** Gathers the keys that are asked for one by one within a turn, and asks for them together. */
export class GetBatcher<K, T> {
  readonly #getMany: (keys: readonly K[], definition: KnownIndex) => Promise<Answers<T>>
  readonly #gather: (flush: () => void) => void
  #waiting: Waiting<K, T>[] = []
  /** By which the waiting ones are to be asked for. */
  #definition: KnownIndex | undefined

  /** @param gather has `flush` called when what was gathered must leave */
  constructor(
    getMany: (keys: readonly K[], definition: KnownIndex) => Promise<Answers<T>>,
    gather: (flush: () => void) => void,
  ) {
    this.#getMany = getMany
    this.#gather = gather
  }

  get(
    key: K,
    definition: KnownIndex,
    resolve: (payload: T | undefined) => void,
    reject: (reason: unknown) => void,
  ): void {
    if (this.#waiting.length === 0 || this.#definition !== definition) {
      // Whatever waits by another definition leaves now.
      this.#gather(() => void this.#flush(definition))
      this.#definition = definition
    }
    this.#waiting.push({ key, resolve, reject })
  }

  async #flush(definition: KnownIndex): Promise<void> {
    const batch = this.#waiting
    this.#waiting = []
    try {
      const answers = await this.#getMany(
        batch.map(({ key }) => key),
        definition,
      )
      batch.forEach(({ resolve }, i) => {
        resolve(answers.payload(i))
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}
