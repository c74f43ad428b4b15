import type { StoredIndex } from '../../persistence/disk/dictionary.js'
import type { IndexHandle } from '../../protocol/data-request.js'
import type { WarpdexError } from '../../protocol/errors.js'
import type { IndexStats } from '../../protocol/replies.js'
import type { IndexDefinition } from '../../protocol/types.js'
import {
  definitionOver,
  type RelationIndexDefinition,
  sameDefinition,
  settleDefinition,
} from './index-definitions.js'
import { indexChanged, indexExists, notLoaded, unknownHandle, unknownIndex } from './index-errors.js'
import { Index, type IndexHost } from './named-index.js'
import type { Relation, RelationHost } from './named-relation.js'
import type { PagedStats } from './paged-index.js'
import type { Relations } from './relations.js'

/** What the creation of an index over columns has come to. */
export interface CreatedIndex {
  readonly definition: IndexDefinition
  /** False where there was such an index already. */
  readonly created: boolean
}

/** All indexes of an engine, those over columns of its relations among them. */
export class Indexes {
  readonly #host: IndexHost & RelationHost
  readonly #relations: Relations
  /** By handle, those that were asked for by it. */
  readonly #opened = new Map<number, Index>()

  constructor(host: IndexHost & RelationHost, relations: Relations) {
    this.#host = host
    this.#relations = relations
  }

  /** Brings a stored index to the device; its relation is there. */
  async open(stored: StoredIndex): Promise<void> {
    const { definition } = stored
    try {
      if (definition.of === undefined)
        await this.#host.indexes.add(new Index(definition, this.#host)).open(stored)
      else await this.#relations.get(definition.of.relation).openIndex(stored, this.#host)
    } catch (thrown) {
      throw notLoaded('index', definition.name, thrown)
    }
  }

  /** As `Engine.createIndex`. */
  async create(given: IndexDefinition, options: { ifNotExists?: boolean }): Promise<boolean> {
    const { created } = await this.#createOnce({ ...given, of: undefined }, options, (definition) =>
      this.#host.indexes.create(new Index(definition, this.#host)),
    )
    return created
  }

  /** As `Engine.createRelationIndex`. */
  createOver(
    relation: Relation,
    given: RelationIndexDefinition,
    options: { ifNotExists?: boolean },
  ): Promise<CreatedIndex> {
    return this.#createOnce(definitionOver(relation.definition, given), options, (definition) =>
      relation.createIndex(definition, this.#host),
    )
  }

  async #createOnce(
    given: IndexDefinition,
    options: { ifNotExists?: boolean },
    create: (definition: IndexDefinition) => Promise<void>,
  ): Promise<CreatedIndex> {
    const existing = this.#host.indexes.get(given.name)
    const definition = settleDefinition(given, existing?.definition)
    if (existing === undefined) {
      await create(definition)
      return { definition, created: true }
    }
    if (options.ifNotExists !== true || !sameDefinition(existing.definition, definition)) {
      throw indexExists(existing.definition)
    }
    await existing.ready()
    return { definition: existing.definition, created: false }
  }

  /** As `Engine.dropIndex`. */
  async drop(name: string, options: { ifExists?: boolean }): Promise<boolean> {
    const index = this.#host.indexes.get(name)
    if (index === undefined) {
      if (options.ifExists === true) return false
      throw this.#unknown(name)
    }
    const { of } = index.definition
    if (of === undefined) await this.#host.indexes.drop(index)
    else await this.#relations.get(of.relation).dropIndex(index)
    return true
  }

  /** As `Engine.index`. */
  get(name: string): Index {
    const index = this.#host.indexes.get(name)
    if (index === undefined) throw this.#unknown(name)
    return index
  }

  /** As `Engine.openedIndex`. */
  opened({ handle, generation }: IndexHandle): Index {
    const index = this.#opened.get(handle) ?? this.all().find(({ id }) => id === handle)
    if (index === undefined || index.isDropped) {
      this.#opened.delete(handle)
      throw unknownHandle(handle)
    }
    if (!this.#opened.has(handle)) this.#remember(handle, index)
    if (generation !== index.handle.generation) throw indexChanged(index.definition.name, generation)
    return index
  }

  #remember(handle: number, index: Index): void {
    for (const [known, { isDropped }] of this.#opened) if (isDropped) this.#opened.delete(known)
    this.#opened.set(handle, index)
  }

  #unknown(name: string): WarpdexError {
    return unknownIndex(name, this.#relations.has(name))
  }

  all(): readonly Index[] {
    return this.#host.indexes.all()
  }

  /** Definitions of those that are there, as opposed to being created. */
  list(): readonly IndexDefinition[] {
    return this.all()
      .filter(({ exists }) => exists)
      .map(({ definition }) => definition)
  }

  /** All drops that are under way. */
  drops(): readonly Promise<void>[] {
    return this.#host.indexes.drops()
  }

  /** Figures of all, without their regions. */
  stats(): readonly ReturnType<Index['summary']>[] {
    return this.all()
      .filter(({ isLoaded }) => isLoaded)
      .map((index) => index.summary())
  }

  /** As `Engine.largest`. */
  largest(count: number): readonly (IndexStats & PagedStats)[] {
    return this.all()
      .filter(({ isLoaded }) => isLoaded)
      .map((index) => ({ index, bytes: index.bytes }))
      .sort((one, other) => other.bytes - one.bytes)
      .slice(0, count)
      .map(({ index }) => index.stats())
  }
}
