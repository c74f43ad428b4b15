import type { Store } from '../../persistence/store.js'
import { badRequest } from '../../protocol/errors.js'
import { indexExists } from './index-errors.js'
import type { HeldForName, Index } from './named-index.js'
import type { Relation } from './named-relation.js'
import { allHeld } from './named-structure.js'
import type { Registry } from './registry.js'

/** An index, and the name that it is to have. */
interface NewName {
  readonly index: Index
  readonly name: string
  /** Whose columns it is over, if it is over any. */
  readonly relation: Relation | undefined
}

/**
 * Gives indexes other names, in one transaction of the store and in one step for all that ask. What their handles stood for is over as soon as
 * that is called for: what is asked by them before is done before, and who asks for the names afterwards waits.
 */
export class Renames {
  readonly #indexes: Registry<Index>
  readonly #store: Store
  /** By name, the change that concerns it and was asked for last, until that is made or has failed. */
  readonly #changes = new Map<string, Promise<unknown>>()

  constructor(indexes: Registry<Index>, store: Store) {
    this.#indexes = indexes
    this.#store = store
  }

  /** Whether a change of any of these names is under way. */
  concern(...names: readonly string[]): boolean {
    return names.some((name) => this.#changes.has(name))
  }

  /** Resolves when the changes that concern these names are made, or have failed. */
  async settled(...names: readonly string[]): Promise<void> {
    await Promise.allSettled(names.map((name) => this.#changes.get(name)))
  }

  /**
   * Makes a change when all are made that were asked for before and concern one of its names: at once where there are none. Those that are asked for
   * meanwhile come after it.
   */
  async inTurn<T>(names: readonly string[], change: () => Promise<T>): Promise<T> {
    const before = names.flatMap((name) => this.#changes.get(name) ?? [])
    const made = before.length === 0 ? change() : Promise.allSettled(before).then(change)
    for (const name of names) this.#changes.set(name, made)
    try {
      return await made
    } finally {
      for (const name of names) if (this.#changes.get(name) === made) this.#changes.delete(name)
    }
  }

  /** As `inTurn`, of a change that is no concern of others any more once it has begun. */
  async begin<T>(name: string, change: () => Promise<T>): Promise<T> {
    if (!this.concern(name)) return change()
    const { done } = await this.inTurn([name], async () => ({ done: change() }))
    return done
  }

  /** As `begin`, of what has these names now: it may have any name that is being changed once its turn has come. */
  async beginForAll<T>(names: readonly string[], change: () => Promise<T>): Promise<T> {
    if (!this.concern(...names)) return change()
    const all = new Set([...names, ...this.#changes.keys()])
    const { done } = await this.inTurn([...all], async () => ({ done: change() }))
    return done
  }

  /**
   * Gives each of these indexes its name, which another of them may have. Called in their turn.
   * @throws WarpdexError `INDEX_EXISTS`, `BAD_REQUEST` for one name for two; then nothing has changed
   */
  async give(names: readonly NewName[]): Promise<void> {
    if (new Set(names.map(({ name }) => name)).size < names.length)
      throw badRequest('indexes are swapped with each other; name two')
    for (const { name } of names) {
      const owner = this.#indexes.get(name)
      if (owner !== undefined && !names.some(({ index }) => index === owner))
        throw indexExists(owner.definition)
    }
    // All queues are entered in one step, so that changes never wait for each other crosswise: those of indexes over columns only within the turns of their
    // relations, as appends enter them.
    const relations = new Set(names.flatMap(({ relation }) => relation ?? []))
    const within = allHeld([...relations].map((relation) => relation.holdAlone()))
    const named = allHeld(names.map(({ index, relation }) => index.holdForName(relation && within)))
    const turns = await Promise.allSettled([named, within])
    try {
      await this.#give(names, await named)
    } finally {
      for (const turn of turns)
        if (turn.status === 'fulfilled') for (const { release } of turn.value) release()
    }
  }

  /** Gives names to indexes whose turns these are. */
  async #give(names: readonly NewName[], held: readonly HeldForName[]): Promise<void> {
    // Where a drop fails the name is still its index's, as the store says.
    for (const { name } of names) await this.#indexes.dropOf(name)?.catch(() => {})
    const stored = await this.#store.renameIndexes(
      names.map(({ name }, i) => ({ name, id: held[i].id, generation: held[i].generation })),
    )
    const indexes = names.map(({ index }) => index)
    this.#indexes.rename(indexes, () => {
      for (const [i, index] of indexes.entries()) index.renamed(stored[i])
    })
  }
}
