import type { DeviceRelation } from '../../gpu/relational/device-relation.js'
import type { StoredIndex, StoredRelation } from '../../persistence/disk/dictionary.js'
import type { BatchAnswer } from '../../persistence/log/write-outcomes.js'
import type { IndexHandle } from '../../protocol/data-request.js'
import { WarpdexError } from '../../protocol/errors.js'
import type { RelationDefinition, RelationInfo } from '../../protocol/relation.js'
import type { OpenedIndex } from '../../protocol/replies.js'
import type { IndexDefinition } from '../../protocol/types.js'
import { type AtomicBatch, writeBatch } from './atomic-batch.js'
import type { EngineHost } from './engine-host.js'
import {
  definitionOver,
  type RelationIndexDefinition,
  sameDefinition,
  sameRelation,
  settleDefinition,
} from './index-definitions.js'
import {
  indexChanged,
  indexExists,
  keptExists,
  notLoaded,
  onlyKept,
  relationExists,
  unknownHandle,
  unknownIndex,
} from './index-errors.js'
import type { Cancellation, Reader, WriteId } from './index-requests.js'
import { type KeptResult, KeptResults } from './kept-results.js'
import { Index } from './named-index.js'
import { Relation } from './named-relation.js'
import { allHeld } from './named-structure.js'
import { PagedStructure } from './paged-structure.js'
import { Registry } from './registry.js'
import { Renames } from './renames.js'

/** What the creation of an index over columns has come to. */
export interface CreatedIndex {
  readonly definition: IndexDefinition
  /** False where there was such an index already. */
  readonly created: boolean
}

interface DropRelationOptions {
  readonly ifExists?: boolean
  /** Asked about each index over its columns, by name, before anything is dropped; throws for whoever may not drop that. */
  readonly authorise?: (index: string) => void
}

/** All indexes and relations of an engine, and the kept results of queries, which share the names of relations. */
export abstract class Catalog {
  protected readonly host: EngineHost
  protected readonly kept: KeptResults
  protected closing: Promise<void> | undefined
  protected readonly stored = new Registry<Relation>()
  /** By handle, the indexes that were asked for by it. */
  readonly #opened = new Map<number, Index>()
  readonly #renames: Renames

  protected constructor(host: EngineHost) {
    this.host = host
    this.#renames = new Renames(host.indexes, host.store)
    this.kept = new KeptResults(
      host,
      (name) => this.#refuseStored(name),
      (name) => this.#watch(name),
    )
  }

  /** Throws for a new request once it is being closed. */
  protected refuse(): void {
    if (this.closing === undefined) return
    throw new WarpdexError('SHUTTING_DOWN', 'the server is shutting down; try again when it is back')
  }

  /**
   * Creates an index. Requests to it may be made at once; they wait.
   * @returns false if `ifNotExists` is set and there is such an index already
   * @throws WarpdexError `INDEX_EXISTS`, `TOO_LARGE`, `BAD_REQUEST` for a layout that is none, or not for such keys
   */
  async createIndex(definition: IndexDefinition, options: { ifNotExists?: boolean } = {}): Promise<boolean> {
    this.refuse()
    const { created } = await this.#createOnce({ ...definition, of: undefined }, options, (settled) =>
      this.host.indexes.create(new Index(settled, this.host)),
    )
    return created
  }

  /**
   * Creates an index over columns of a relation, whose payloads are the numbers of rows. Rows without a value in any of the columns
   * are not in it. It follows the relation, and goes with it.
   *
   * @param definition keys are the values of one column, or tuples of those of several
   * @returns its definition; it may be gone by then
   * @throws WarpdexError as `createIndex`, and `UNKNOWN_RELATION`
   */
  async createRelationIndex(
    definition: RelationIndexDefinition,
    options: { ifNotExists?: boolean } = {},
  ): Promise<CreatedIndex> {
    const relation = this.relation(definition.relation)
    return this.#createOnce(definitionOver(relation.definition, definition), options, (settled) =>
      relation.createIndex(settled),
    )
  }

  #createOnce(
    given: IndexDefinition,
    options: { ifNotExists?: boolean },
    create: (definition: IndexDefinition) => Promise<void>,
  ): Promise<CreatedIndex> {
    return this.#renames.begin(given.name, async () => {
      const existing = this.host.indexes.get(given.name)
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
    })
  }

  /**
   * Removes an index with all its data.
   * @returns false if `ifExists` is set and there is no such index
   * @throws WarpdexError `UNKNOWN_INDEX`
   */
  async dropIndex(name: string, options: { ifExists?: boolean } = {}): Promise<boolean> {
    this.refuse()
    return this.#renames.begin(name, async () => {
      if (options.ifExists === true && this.host.indexes.get(name) === undefined) return false
      const index = this.index(name)
      const { of } = index.definition
      if (of === undefined) await this.host.indexes.drop(index)
      else await this.relation(of.relation).dropIndex(index)
      return true
    })
  }

  /**
   * Gives an index a name that none has. From the call on its handle means nothing until it is opened again.
   * @throws WarpdexError `UNKNOWN_INDEX`, `INDEX_EXISTS`
   */
  async renameIndex(name: string, to: string): Promise<void> {
    this.refuse()
    await this.#renames.inTurn([name, to], async () =>
      this.#renames.give([{ ...this.#indexWithRelation(name), name: to }]),
    )
  }

  /**
   * Gives two indexes each other's names, in one step. Their handles are as after `renameIndex`.
   * @throws WarpdexError `UNKNOWN_INDEX`, `BAD_REQUEST` for an index and itself
   */
  async swapIndexes(one: string, other: string): Promise<void> {
    this.refuse()
    await this.#renames.inTurn([one, other], async () =>
      this.#renames.give([
        { ...this.#indexWithRelation(one), name: other },
        { ...this.#indexWithRelation(other), name: one },
      ]),
    )
  }

  /**
   * What requests by a handle need to know of an index, once it is there and has its name.
   * @throws WarpdexError `UNKNOWN_INDEX`, `SHUTTING_DOWN`
   */
  async openedByName(name: string): Promise<OpenedIndex> {
    while (this.#renames.concern(name)) await this.#renames.settled(name)
    const index = this.index(name)
    if (index.exists) return { ...index.definition, ...index.handle }
    await index.ready()
    // The name may mean another one meanwhile.
    return this.openedByName(name)
  }

  /** Definitions of the indexes that are there, as opposed to being created. */
  list(): readonly IndexDefinition[] {
    return this.host.indexes.existing().map(({ definition }) => definition)
  }

  /** @throws WarpdexError `UNKNOWN_INDEX`, `SHUTTING_DOWN` */
  index(name: string): Index {
    this.refuse()
    const index = this.host.indexes.get(name)
    if (index === undefined) throw unknownIndex(name, this.#readable(name) !== undefined)
    return index
  }

  /**
   * The index that a handle stands for, as `Index.handle` gives it. A write that was done before is answered by it, whatever names mean since.
   *
   * @param id names the write, so that it is made once although it is sent again
   * @throws WarpdexError `UNKNOWN_INDEX`, `INDEX_CHANGED` for another generation, `SHUTTING_DOWN`
   */
  openedIndex({ handle, generation }: IndexHandle, id?: WriteId): Index {
    this.refuse()
    let index = this.#opened.get(handle)
    if (index === undefined || index.isDropped) {
      for (const [known, { isDropped }] of this.#opened) if (isDropped) this.#opened.delete(known)
      index = this.host.indexes.all().find(({ id, isDropped }) => id === handle && !isDropped)
      if (index === undefined) throw unknownHandle(handle)
      this.#opened.set(handle, index)
    }
    if (generation === index.handle.generation) return index
    if (id !== undefined && this.host.store.outcomes.has(id.client, id.number)) return index
    throw indexChanged(index.definition.name, generation)
  }

  /** The name of the index that a handle stands for, if there is one. */
  nameOf(handle: number): string | undefined {
    return this.host.indexes.all().find(({ id }) => id === handle)?.definition.name
  }

  /**
   * Creates a relation. Requests to it may be made at once; they wait.
   * @returns false if `ifNotExists` is set and there is such a relation already
   * @throws WarpdexError `RELATION_EXISTS`
   */
  async createRelation(
    definition: RelationDefinition,
    options: { ifNotExists?: boolean } = {},
  ): Promise<boolean> {
    this.refuse()
    const { name } = definition
    if (this.kept.get(name) !== undefined) throw keptExists(name)
    const existing = this.stored.get(name)
    if (existing === undefined) {
      this.kept.forget(name)
      await this.stored.create(new Relation(definition, this.host))
      return true
    }
    if (options.ifNotExists !== true || !sameRelation(existing.definition, definition)) {
      throw relationExists(existing.definition)
    }
    await existing.ready()
    return false
  }

  /**
   * Removes a relation with all its rows, and the indexes over its columns.
   * @returns false if `ifExists` is set and there is no such relation
   * @throws WarpdexError `UNKNOWN_RELATION`, and what `authorise` throws
   */
  async dropRelation(name: string, options: DropRelationOptions = {}): Promise<boolean> {
    this.refuse()
    if (options.ifExists === true && this.#readable(name) === undefined) return false
    const relation = this.readableRelation(name)
    if (!(relation instanceof Relation)) await this.kept.drop(relation)
    else {
      const names = () => relation.dependents.map(({ definition }) => definition.name)
      await this.#renames.beginForAll(names(), async () => {
        for (const name of names()) options.authorise?.(name)
        await this.stored.drop(relation)
      })
    }
    return true
  }

  relations(): readonly RelationInfo[] {
    return [...this.stored.existing(), ...this.kept.all()].map((relation) => relation.info())
  }

  /** @throws WarpdexError `UNKNOWN_RELATION`, `SHUTTING_DOWN`, and `BAD_REQUEST` for the kept result of a query */
  relation(name: string): Relation {
    const relation = this.readableRelation(name)
    if (relation instanceof Relation) return relation
    throw onlyKept(name)
  }

  /** @throws WarpdexError `UNKNOWN_RELATION`, `SHUTTING_DOWN` */
  readableRelation(name: string): Relation | KeptResult {
    this.refuse()
    const relation = this.#readable(name)
    if (relation === undefined) throw this.kept.unknown(name)
    return relation
  }

  /**
   * Makes several writes and appends, all or none, if all of their conditions hold.
   * @param id as in `Index.write`
   * @throws WarpdexError also `CONDITION_FAILED`, with the number of the condition
   */
  async writeBatch(batch: AtomicBatch, id?: WriteId, cancellation?: Cancellation): Promise<BatchAnswer> {
    this.refuse()
    return writeBatch(
      { ...this.host, relationOf: (index) => this.#relationOf(index) },
      batch,
      id,
      cancellation,
    )
  }

  /** @throws WarpdexError `UNKNOWN_INDEX`, `SHUTTING_DOWN` */
  #indexWithRelation(name: string): { readonly index: Index; readonly relation: Relation | undefined } {
    const index = this.index(name)
    return { index, relation: this.#relationOf(index) }
  }

  /** The relation whose columns an index is over, if it is over any. */
  #relationOf({ definition: { of } }: Index): Relation | undefined {
    return of && this.stored.get(of.relation)
  }

  #readable(name: string): Relation | KeptResult | undefined {
    return this.stored.get(name) ?? this.kept.get(name)
  }

  /**
   * Runs a task on the columns of several relations, which stay as they are and on the device meanwhile; it sees whole appends.
   * @param names may name a relation twice
   */
  async useRelations<T>(
    names: readonly string[],
    run: (relations: ReadonlyMap<string, DeviceRelation>) => Promise<T>,
    reader?: Reader,
  ): Promise<T> {
    const relations = [...new Set(names)].map((name) => this.readableRelation(name))
    // All queues are entered in one step, so that tasks on the same relations never wait for each other crosswise.
    const held = await allHeld(relations.map((relation) => relation.hold(reader)))
    try {
      const structures = held.map(({ structure }) => structure)
      return await PagedStructure.useAll(structures, () => {
        const used = structures.map(({ current }, i) => {
          const relation = relations[i]
          const indexes = relation instanceof Relation ? relation.indexes : []
          const over = indexes.map(({ ofColumns }) => ofColumns)
          return [relation.definition.name, { ...current.relation, indexes: over }] as const
        })
        return run(new Map(used))
      })
    } finally {
      for (const { release } of held) release()
    }
  }

  /** Brings a stored relation to the device. */
  protected async openRelation(stored: StoredRelation): Promise<void> {
    const { definition } = stored
    try {
      await this.stored.add(new Relation(definition, this.host)).open(stored)
    } catch (thrown) {
      throw notLoaded('relation', definition.name, thrown)
    }
  }

  /** Brings a stored index to the device; its relation is there. */
  protected async openIndex(stored: StoredIndex): Promise<void> {
    const { definition } = stored
    try {
      if (definition.of === undefined)
        await this.host.indexes.add(new Index(definition, this.host)).open(stored)
      else await this.relation(definition.of.relation).openIndex(stored)
    } catch (thrown) {
      throw notLoaded('index', definition.name, thrown)
    }
  }

  /** What tells whether the relation of a name is another than now, or holds something else. */
  #watch(name: string): () => boolean {
    const source = this.#readable(name)
    const changes = source instanceof Relation ? source.changes : 0
    return () => {
      if (source === undefined || this.#readable(name) !== source) return true
      return source instanceof Relation ? source.changes !== changes : source.isOlder
    }
  }

  /** Refuses the name of a stored relation for a result. */
  #refuseStored(name: string): void {
    const relation = this.stored.get(name)
    if (relation !== undefined) throw relationExists(relation.definition)
    if (this.stored.dropOf(name) === undefined) return
    const message = `the relation ${JSON.stringify(name)} is being dropped; try again, or choose another name`
    throw new WarpdexError('RELATION_EXISTS', message)
  }
}
