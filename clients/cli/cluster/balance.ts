import type { IndexDefinition } from '../../../protocol/types.js'
import { equalParts } from '../../sdk/cluster/equal-parts.js'
import type { Client } from '../../sdk/index.js'
import type { AnyKey } from '../keys.js'
import { showProgress } from '../progress.js'

export interface BalanceOptions {
  /** How many times the entries of the smallest part the largest has at least. */
  readonly ratio: number
  /** Entries that the largest part has at least. */
  readonly least: number
  /** Entries from which an index that is on one replica set is spread. */
  readonly spreadFrom: number
  /** Whether it is only said what would be done. */
  readonly dryRun: boolean
}

/** An index whose parts were of unlike sizes. */
export interface Balanced {
  readonly index: IndexDefinition
  /** On each replica set before. */
  readonly before: readonly number[]
  /** Of each part from now on; absent where no keys cut it better. */
  readonly entries?: readonly number[]
  readonly splitAt?: readonly AnyKey[]
}

/** What an index is called while it is split, or gets another name. */
const ON_THE_WAY = /^(.*) ~(next$|former$|to |becomes )/s
/** What the largest part loses at least: a split copies the whole index. */
const WORTH = 0.1

/** Splits indexes anew whose parts are of unlike sizes. */
export class Balancer {
  readonly #options: BalanceOptions
  /** Entries of indexes that no keys cut better. They are looked at again when they have twice as many. */
  readonly #uncut = new Map<string, number>()

  constructor(options: BalanceOptions) {
    this.#options = options
  }

  /**
   * Balances one index after the other.
   * @throws WarpdexError as `Client.splitIndex`
   */
  async *balance(client: Client, signal: AbortSignal): AsyncGenerator<Balanced, void, undefined> {
    const { indexes } = await client.stats()
    for (const index of indexes) {
      const before = index.payloadsOfSets as readonly number[]
      if (signal.aborted) return
      const [, name, role] = ON_THE_WAY.exec(index.name) ?? []
      // Without the name, a split has ended in its last steps, and the next one makes that good.
      const isLeft = role === 'former' && !indexes.some((other) => other.name === name)
      if (isLeft && !this.#options.dryRun) await splitShown(client, name!, undefined, signal)
      if (name === undefined && this.#isUneven(index, before))
        yield await this.#cut(client, index, before, signal)
    }
  }

  #isUneven({ name, of, placement = [] }: IndexDefinition, entries: readonly number[]): boolean {
    const { ratio, least, spreadFrom } = this.#options
    const total = sum(entries)
    const largest = Math.max(...entries)
    // Indexes over columns of a relation are where that is.
    if (of !== undefined) return false
    if (placement.length < 2 && total < spreadFrom) return false
    return (
      largest >= least && largest >= ratio * Math.min(...entries) && total >= 2 * (this.#uncut.get(name) ?? 0)
    )
  }

  async #cut(
    client: Client,
    index: IndexDefinition,
    before: readonly number[],
    signal: AbortSignal,
  ): Promise<Balanced> {
    const { name } = index
    const { splitAt, entries } = await equalParts(client.index(name), before.length, signal)
    if (Math.max(...entries) > (1 - WORTH) * Math.max(...before)) {
      this.#uncut.set(name, sum(before))
      return { index, before }
    }
    if (!this.#options.dryRun) await splitShown(client, name, splitAt, signal)
    return { index, before, splitAt, entries }
  }
}

/** Splits an index, with its progress on the terminal. @returns how many entries it had */
export async function splitShown(
  client: Client,
  name: string,
  splitAt: readonly AnyKey[] | undefined,
  signal?: AbortSignal,
): Promise<number> {
  const progress = showProgress(`splitting ${name}`, undefined)
  try {
    return await client.splitIndex(name, splitAt as never, {
      signal,
      onProgress: ({ step, done }) => progress.update(done, `${step}, ${done}`),
    })
  } finally {
    progress.stop()
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}
