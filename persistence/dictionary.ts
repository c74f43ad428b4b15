import { randomBytes } from 'node:crypto'
import { WarpdexError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import type { IndexDefinition } from '../protocol/types.js'
import type { Change, Committer, Keyspace } from './committer.js'
import { indexKey } from './keys.js'
import { damaged, decodeRecord, encodeRecord, RecordKind } from './record.js'

/** An index as the dictionary holds it. */
export interface StoredIndex {
  /** Never used again, also after the index has been dropped. */
  readonly id: number
  readonly definition: IndexDefinition
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Secret of the index's content hashes. */
  readonly seed: readonly [low: number, high: number]
}

/** Longer than the key of an index, so that it is not one. */
const COUNTER_KEY = Buffer.from('next index')

/** What one entry of the dictionary says: the next id, an index, or the id of one that was dropped. */
export interface DictionaryEntry {
  readonly next?: number
  readonly index?: StoredIndex
  readonly dropped?: number
}

/** @throws WarpdexError `DAMAGED_FILE` */
export function readEntry(key: Buffer, value: Buffer): DictionaryEntry {
  if (key.equals(COUNTER_KEY)) {
    const what = 'the counter of index ids'
    return { next: decodeRecord<{ next: number }>(RecordKind.counter, key, value, what).meta.next }
  }
  if (key.length < 4) throw damaged('the key of an index is damaged')
  const id = key.readUInt32BE(0)
  if (key.length > indexKey(id).length) {
    decodeRecord(RecordKind.droppedIndex, key, value, `the note that index ${id} was dropped`)
    return { dropped: id }
  }
  const what = `the definition of index ${id}`
  return { index: decodeRecord<StoredIndex>(RecordKind.index, key, value, what).meta }
}

/** The definitions of all indexes, and the ids of those that were dropped but whose data is not removed yet. */
export class Dictionary {
  readonly #committer: Committer
  readonly #keyspace: Keyspace
  readonly #indexes = new Map<number, StoredIndex>()
  readonly #names = new Set<string>()
  readonly #dropped = new Set<number>()
  #nextId = 1

  private constructor(committer: Committer, keyspace: Keyspace) {
    this.#committer = committer
    this.#keyspace = keyspace
  }

  /** @throws WarpdexError `DAMAGED_FILE` */
  static load(committer: Committer, keyspace: Keyspace): Dictionary {
    const dictionary = new Dictionary(committer, keyspace)
    for (const { key, value } of keyspace.getRange({})) dictionary.#load(key, value)
    return dictionary
  }

  #load(key: Buffer, value: Buffer): void {
    const entry = readEntry(key, value)
    if (entry.next !== undefined) this.#nextId = entry.next
    if (entry.dropped !== undefined) this.#dropped.add(entry.dropped)
    if (entry.index === undefined) return
    this.#indexes.set(entry.index.id, entry.index)
    this.#names.add(entry.index.definition.name)
  }

  list(): StoredIndex[] {
    return [...this.#indexes.values()]
  }

  /** Whether there has ever been an index with that id. */
  hasGiven(id: number): boolean {
    return id < this.#nextId
  }

  /** Ids of dropped indexes that may still have data. */
  dropped(): number[] {
    return [...this.#dropped]
  }

  /** @throws WarpdexError `INDEX_EXISTS`, `TOO_LARGE` */
  async create(definition: IndexDefinition): Promise<StoredIndex> {
    const { name } = definition
    if (this.#names.has(name)) {
      throw new WarpdexError('INDEX_EXISTS', `there is an index ${JSON.stringify(name)} already`)
    }
    if (this.#names.size >= LIMITS.indexes) {
      throw new WarpdexError('TOO_LARGE', `a server has at most ${LIMITS.indexes} indexes; drop one first`)
    }
    const seed = randomBytes(8)
    const index: StoredIndex = {
      id: this.#nextId++,
      definition,
      createdAt: Date.now(),
      seed: [seed.readUInt32LE(0), seed.readUInt32LE(4)],
    }
    this.#names.add(name)
    const key = indexKey(index.id)
    try {
      await this.#committer.commit([
        this.#put(key, encodeRecord(RecordKind.index, key, index)),
        this.#put(COUNTER_KEY, encodeRecord(RecordKind.counter, COUNTER_KEY, { next: this.#nextId })),
      ])
    } catch (error) {
      this.#names.delete(name)
      throw error
    }
    this.#indexes.set(index.id, index)
    return index
  }

  /** Removes a definition and notes that the data is to follow. */
  async drop(id: number): Promise<void> {
    const index = this.#indexes.get(id)
    if (index === undefined) throw new WarpdexError('UNKNOWN_INDEX', `there is no index with id ${id}`)
    const note = droppedKey(id)
    await this.#committer.commit([
      { keyspace: this.#keyspace, key: indexKey(id) },
      this.#put(note, encodeRecord(RecordKind.droppedIndex, note, {})),
    ])
    this.#indexes.delete(id)
    this.#names.delete(index.definition.name)
    this.#dropped.add(id)
  }

  /** Removes the note of a dropped index whose data is gone. */
  async forget(id: number): Promise<void> {
    await this.#committer.commit([{ keyspace: this.#keyspace, key: droppedKey(id) }])
    this.#dropped.delete(id)
  }

  #put(key: Buffer, value: Buffer): Change {
    return { keyspace: this.#keyspace, key, value }
  }
}

function droppedKey(id: number): Buffer {
  return Buffer.concat([indexKey(id), Buffer.from('dropped')])
}
