import type { Store } from '../../persistence/store.js'
import { badRequest } from '../../protocol/errors.js'
import { indexExists } from './index-errors.js'
import type { Index } from './named-index.js'
import { allHeld } from './named-structure.js'
import type { Registry } from './registry.js'

/** An index, and the name that it is to have. */
interface NewName {
  readonly index: Index
  readonly name: string
}

/**
 * Gives indexes other names, in one transaction of the store and in one step for all that ask. What their handles stood for is over as soon as
 * that is called for: what is asked by them before is done before, and who asks for the names afterwards waits.
 */
export class Renames {
  readonly #indexes: Registry<Index>
  readonly #store: Store
  /** Changes that are under way, by the names that they give or take. */
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(indexes: Registry<Index>, store: Store) {
    this.#indexes = indexes
    this.#store = store
  }

  /** Whether any of these names is being given or taken. */
  concern(...names: readonly string[]): boolean {
    return names.some((name) => this.#underWay.has(name))
  }

  /** Resolves when the changes that concern these names are made, or have failed. */
  async settled(...names: readonly string[]): Promise<void> {
    await Promise.allSettled(names.map((name) => this.#underWay.get(name)))
  }

  /**
   * Gives each of these indexes, of whose names none is under way, its name, which another of them may have.
   * @throws WarpdexError `INDEX_EXISTS`, `BAD_REQUEST` for one name for two; then nothing has changed
   */
  async give(names: readonly NewName[]): Promise<void> {
    const concerned = new Set(names.flatMap(({ index, name }) => [index.definition.name, name]))
    if (new Set(names.map(({ name }) => name)).size < names.length)
      throw badRequest('indexes are swapped with each other; name two')
    for (const { name } of names) {
      const owner = this.#indexes.get(name)
      if (owner !== undefined && !names.some(({ index }) => index === owner))
        throw indexExists(owner.definition)
    }
    const change = this.#give(names)
    for (const name of concerned) this.#underWay.set(name, change)
    try {
      await change
    } finally {
      for (const name of concerned) this.#underWay.delete(name)
    }
  }

  async #give(names: readonly NewName[]): Promise<void> {
    // All queues are entered in one step, so that changes never wait for each other crosswise.
    const held = await allHeld(names.map(({ index }) => index.holdForName()))
    try {
      // Where a drop fails the name is still its index's, as the store says.
      for (const { name } of names) await this.#indexes.dropOf(name)?.catch(() => {})
      const stored = await this.#store.renameIndexes(
        names.map(({ name }, i) => ({ name, id: held[i].id, generation: held[i].generation })),
      )
      const indexes = names.map(({ index }) => index)
      this.#indexes.rename(indexes, () => {
        for (const [i, index] of indexes.entries()) index.renamed(stored[i])
      })
    } finally {
      for (const { release } of held) release()
    }
  }
}
