import { randomBytes } from 'node:crypto'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { RelationDefinition } from '../../protocol/relation.js'
import type { IndexDefinition } from '../../protocol/types.js'
import type { Change, Committer, Keyspace } from './committer.js'
import { damaged, decodeRecord, encodeRecord, indexKey, RecordKind } from './record.js'

/** An index or a relation as the dictionary holds it. */
interface Stored<Definition> {
  /** One of both kinds together. Never used again, also after what it is of has been dropped. */
  readonly id: number
  readonly definition: Definition
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** How often the name of an index has come to mean something else, from this on. */
export const FIRST_GENERATION = 1

export interface StoredIndex extends Stored<IndexDefinition> {
  /** Absent before its name was changed for the first time. */
  readonly generation?: number
  /** Secret of the index's content hashes. */
  readonly seed: readonly [low: number, high: number]
}

export type StoredRelation = Stored<RelationDefinition>

/** The name that an index is to have, and the generation that begins by it. */
export interface IndexName {
  readonly id: number
  readonly name: string
  readonly generation: number
}

/** Makes what there is of an index or relation beside its definition. */
export type Make<S> = (stored: S) => Promise<void>

/** Longer than the key of an index, so that it is not one. */
const COUNTER_KEY = Buffer.from('next index')

/** What one entry of the dictionary says: the next id, an index, a relation, or the id of one that was dropped. */
export interface DictionaryEntry {
  readonly next?: number
  readonly index?: StoredIndex
  readonly relation?: StoredRelation
  readonly dropped?: number
}

const KINDS = {
  index: { plural: 'indexes', article: 'an', exists: 'INDEX_EXISTS' },
  relation: { plural: 'relations', article: 'a', exists: 'RELATION_EXISTS' },
} as const
type Kind = keyof typeof KINDS

/** @throws WarpdexError `DAMAGED_FILE` */
export function readEntry(key: Buffer, value: Buffer): DictionaryEntry {
  if (key.equals(COUNTER_KEY)) {
    const what = 'the counter of index ids'
    return { next: decodeRecord<{ next: number }>(RecordKind.counter, key, value, what).meta.next }
  }
  if (key.length < 4) throw damaged('the key of an index is damaged')
  const id = key.readUInt32BE(0)
  if (key.equals(relationKey(id))) {
    const what = `the definition of relation ${id}`
    return { relation: decodeRecord<StoredRelation>(RecordKind.relation, key, value, what).meta }
  }
  if (key.length > indexKey(id).length) {
    decodeRecord(RecordKind.droppedIndex, key, value, `the note that index ${id} was dropped`)
    return { dropped: id }
  }
  const what = `the definition of index ${id}`
  return { index: decodeRecord<StoredIndex>(RecordKind.index, key, value, what).meta }
}

/** Holds data of indexes and relations, by id. */
interface Holder {
  /** Takes one up. */
  open(id: number): void
  /** Takes no more of it. */
  close(id: number): void
  /** Removes what there is of one that was closed. */
  remove(id: number): Promise<void>
}

/**
 * The definitions of all indexes and relations, and the ids of those that were dropped but whose data is not removed yet. Whatever holds data of
 * them is told when one comes or goes.
 */
export class Dictionary {
  readonly #committer: Committer
  readonly #keyspace: Keyspace
  readonly #holders: readonly Holder[]
  readonly #indexes = new Map<number, StoredIndex>()
  readonly #relations = new Map<number, StoredRelation>()
  /** Names of either kind, which are kept apart. */
  readonly #names = { index: new Set<string>(), relation: new Set<string>() }
  readonly #dropped = new Set<number>()
  #nextId = 1
  /** Removes the data of what was dropped, one after the other. */
  #removal: Promise<void> = Promise.resolve()

  /**
   * @param holders of data, which they get from `open` on
   * @throws WarpdexError `DAMAGED_FILE`
   */
  constructor(committer: Committer, keyspace: Keyspace, holders: readonly Holder[]) {
    this.#committer = committer
    this.#keyspace = keyspace
    this.#holders = holders
    for (const { key, value } of keyspace.getRange({})) this.#load(key, value)
  }

  #load(key: Buffer, value: Buffer): void {
    const { next, dropped, index, relation } = readEntry(key, value)
    if (next !== undefined) this.#nextId = next
    if (dropped !== undefined) this.#dropped.add(dropped)
    if (index !== undefined) this.#indexes.set(index.id, index)
    if (relation !== undefined) this.#relations.set(relation.id, relation)
    if (index !== undefined) this.#names.index.add(index.definition.name)
    if (relation !== undefined) this.#names.relation.add(relation.definition.name)
  }

  /** Has all that is stored taken up, and the data removed of what was dropped before. */
  open(): void {
    for (const id of [...this.#indexes.keys(), ...this.#relations.keys()])
      for (const holder of this.#holders) holder.open(id)
    for (const id of this.#dropped) this.#removeLater(id)
  }

  indexes(): StoredIndex[] {
    return [...this.#indexes.values()]
  }

  relations(): StoredRelation[] {
    return [...this.#relations.values()]
  }

  /** Whether there has ever been an index or a relation with that id. */
  hasGiven(id: number): boolean {
    return id < this.#nextId
  }

  /** Resolves when the data of all that was dropped is removed. */
  removed(): Promise<void> {
    return this.#removal
  }

  /** Takes up an entry, as it was stored by another replica. */
  took(key: Buffer, value: Buffer | undefined): void {
    // What is dropped has a note that says so.
    if (value === undefined) return
    const { dropped, index, relation } = readEntry(key, value)
    const isRenamed = index !== undefined && this.#indexes.has(index.id)
    const added = isRenamed ? undefined : (index ?? relation)
    if (added !== undefined) for (const holder of this.#holders) holder.open(added.id)
    this.#load(key, value)
    if (dropped !== undefined) this.#leave(dropped)
    if (!isRenamed) return
    // Names may have been swapped, so that each is still somebody's.
    this.#names.index.clear()
    for (const { definition } of this.#indexes.values()) this.#names.index.add(definition.name)
  }

  /** As `Store.createIndex`. */
  async createIndex(definition: IndexDefinition, make?: Make<StoredIndex>): Promise<StoredIndex> {
    const seed = randomBytes(8)
    const secret = [seed.readUInt32LE(0), seed.readUInt32LE(4)] as const
    const index = { ...this.#new('index', definition), seed: secret }
    await this.#enter('index', index, indexKey(index.id), make)
    this.#indexes.set(index.id, index)
    return index
  }

  /** As `Store.createRelation`. */
  async createRelation(definition: RelationDefinition, make?: Make<StoredRelation>): Promise<StoredRelation> {
    const relation = this.#new('relation', definition)
    await this.#enter('relation', relation, relationKey(relation.id), make)
    this.#relations.set(relation.id, relation)
    return relation
  }

  /** As `Store.renameIndexes`. */
  async renameIndexes(names: readonly IndexName[]): Promise<readonly StoredIndex[]> {
    const before = names.map(({ id }) => this.#index(id))
    const taken = this.#names.index
    const former = new Set(before.map(({ definition }) => definition.name))
    const added = names.map(({ name }) => name).filter((name) => !former.has(name))
    for (const name of added) this.#requireFree('index', name)
    for (const name of added) taken.add(name)
    const after = names.map(({ name, generation }, i) => {
      return { ...before[i], generation, definition: { ...before[i].definition, name } }
    })
    try {
      await this.#committer.commitShared(
        after.map((index) => {
          const key = indexKey(index.id)
          return this.#put(key, encodeRecord(RecordKind.index, key, index))
        }),
      )
    } catch (error) {
      for (const name of added) taken.delete(name)
      throw error
    }
    for (const index of after) this.#indexes.set(index.id, index)
    for (const name of former) taken.delete(name)
    for (const { name } of names) taken.add(name)
    return after
  }

  /** As `Store.drop`. */
  async drop(ids: readonly number[]): Promise<void> {
    const unknown = ids.find((id) => !this.#indexes.has(id) && !this.#relations.has(id))
    if (unknown !== undefined) throw new WarpdexError('UNKNOWN_INDEX', `there is no index with id ${unknown}`)
    const changes = ids.flatMap((id) => {
      const note = droppedKey(id)
      const key = this.#relations.has(id) ? relationKey(id) : indexKey(id)
      return [
        { keyspace: this.#keyspace, key },
        this.#put(note, encodeRecord(RecordKind.droppedIndex, note, {})),
      ]
    })
    await this.#committer.commitShared(changes)
    for (const id of ids) this.#leave(id)
  }

  #leave(id: number): void {
    this.#names.index.delete(this.#indexes.get(id)?.definition.name ?? '')
    this.#names.relation.delete(this.#relations.get(id)?.definition.name ?? '')
    this.#indexes.delete(id)
    this.#relations.delete(id)
    this.#dropped.add(id)
    for (const holder of this.#holders) holder.close(id)
    this.#removeLater(id)
  }

  #removeLater(id: number): void {
    this.#removal = this.#removal.then(async () => {
      try {
        for (const holder of this.#holders) await holder.remove(id)
        await this.#committer.commit([{ keyspace: this.#keyspace, key: droppedKey(id) }])
        this.#dropped.delete(id)
      } catch {
        // The store was closed or its disk failed, which every write reports; the next opening goes on with this.
      }
    })
  }

  #new<D extends { readonly name: string }>(kind: Kind, definition: D): Stored<D> {
    const { name } = definition
    const names = this.#names[kind]
    const { plural } = KINDS[kind]
    const most = LIMITS[plural]
    this.#requireFree(kind, name)
    if (names.size >= most) {
      throw new WarpdexError('TOO_LARGE', `a server has at most ${most} ${plural}; drop one first`)
    }
    names.add(name)
    return { id: this.#nextId++, definition, createdAt: Date.now() }
  }

  #requireFree(kind: Kind, name: string): void {
    if (!this.#names[kind].has(name)) return
    const { article, exists } = KINDS[kind]
    throw new WarpdexError(exists, `there is ${article} ${kind} ${JSON.stringify(name)} already`)
  }

  #index(id: number): StoredIndex {
    const index = this.#indexes.get(id)
    if (index !== undefined) return index
    throw new WarpdexError('UNKNOWN_INDEX', `there is no index with id ${id}`)
  }

  async #enter<S extends StoredIndex | StoredRelation>(
    kind: Kind,
    stored: S,
    key: Buffer,
    make?: Make<S>,
  ): Promise<void> {
    const { id, definition } = stored
    try {
      for (const holder of this.#holders) holder.open(id)
      await make?.(stored)
      await this.#committer.commitShared([
        this.#put(key, encodeRecord(RecordKind[kind], key, stored)),
        this.#put(COUNTER_KEY, encodeRecord(RecordKind.counter, COUNTER_KEY, { next: this.#nextId })),
      ])
    } catch (error) {
      for (const holder of this.#holders) holder.close(id)
      this.#names[kind].delete(definition.name)
      throw error
    }
  }

  #put(key: Buffer, value: Buffer): Change {
    return { keyspace: this.#keyspace, key, value }
  }
}

function relationKey(id: number): Buffer {
  return Buffer.concat([indexKey(id), Buffer.from('relation')])
}

function droppedKey(id: number): Buffer {
  return Buffer.concat([indexKey(id), Buffer.from('dropped')])
}
