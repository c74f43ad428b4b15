import {
  type AbstractDatabaseOptions,
  AbstractLevel,
  type AbstractOpenOptions,
  AbstractSnapshot,
} from 'abstract-level'
import {
  type Client,
  type ConnectOptions,
  connect,
  type Index,
  type ReadAtOptions,
  type Snapshot,
  WarpdexError,
} from '../sdk/index.js'
import { type IteratorOptions, LevelIterator } from './iterator.js'
import { type KeyBounds, rangeOf } from './range.js'

/** Options beside those that every abstract-level database has. */
export interface WarpdexLevelOptions<K, V> extends AbstractDatabaseOptions<K, V> {
  /** How to connect: a token, certificates, deadlines. */
  readonly connect?: ConnectOptions | undefined
}

interface OpenOptions extends AbstractOpenOptions {
  readonly connect?: ConnectOptions | undefined
}

interface ReadOptions {
  readonly snapshot?: AbstractSnapshot | undefined
}

interface ClearOptions extends KeyBounds, ReadOptions {
  readonly reverse: boolean
  /** −1 for none. */
  readonly limit: number
}

interface Operation {
  readonly type: 'put' | 'del'
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** For which a snapshot lasts after its last read, as the SDK's scans do. */
const SNAPSHOT_SECONDS = 600

/**
 * An `abstract-level` database that is an index of a warpdex server, of keys and payloads of kind bytes. Errors of the server come as the WarpdexErrors
 * that they are. What is written is durable, and seen by all clients, once the call is answered; each database has a connection of its own.
 *
 * Methods whose names begin with _ are called by AbstractLevel, which has checked and encoded what they are given.
 */
export class WarpdexLevel<K = string, V = string> extends AbstractLevel<Uint8Array, K, V> {
  /** Of the server. */
  readonly url: string
  /** The index's name. */
  readonly name: string
  #client!: Client
  #index!: Index<'bytes', 'bytes'>

  /**
   * @param url of the server, as `connect` of the SDK takes it
   * @param name of the index, which is created when it is missing
   */
  constructor(url: string, name: string, options?: WarpdexLevelOptions<K, V>) {
    const features = {
      encodings: { view: true },
      explicitSnapshots: true,
      implicitSnapshots: true,
      has: true,
      createIfMissing: true,
      errorIfExists: true,
      signals: { iterators: true },
    }
    super(features, options)
    this.url = url
    this.name = name
  }

  async _open(options: OpenOptions): Promise<void> {
    const client = await connect(this.url, options.connect)
    try {
      this.#index = await openIndex(client, this.name, options)
      this.#client = client
    } catch (error) {
      await client.close()
      throw error
    }
  }

  _close(): Promise<void> {
    return this.#client.close()
  }

  _get(key: Uint8Array, options: ReadOptions): Promise<Uint8Array | undefined> {
    return readAt(options, (at) => this.#index.get(key, at))
  }

  async _getMany(keys: readonly Uint8Array[], options: ReadOptions): Promise<(Uint8Array | undefined)[]> {
    const found = await readAt(options, (at) => this.#index.getMany(keys, at))
    return keys.map((_, i) => found.payload(i))
  }

  _has(key: Uint8Array, options: ReadOptions): Promise<boolean> {
    return readAt(options, (at) => this.#index.has(key, at))
  }

  async _hasMany(keys: readonly Uint8Array[], options: ReadOptions): Promise<boolean[]> {
    const found = await readAt(options, (at) => this.#index.hasMany(keys, at))
    return Array.from(found, (has) => has === 1)
  }

  _put(key: Uint8Array, value: Uint8Array): Promise<void> {
    return this.#index.put(key, value)
  }

  async _del(key: Uint8Array): Promise<void> {
    await this.#index.delete(key)
  }

  async _batch(operations: readonly Operation[]): Promise<void> {
    const batch = this.#index.batch()
    for (const { type, key, value } of operations) {
      if (type === 'put') batch.put(key, value)
      else batch.delete(key)
    }
    await batch.write()
  }

  async _clear(options: ClearOptions): Promise<void> {
    const range = rangeOf(options)
    const { reverse, limit, snapshot } = options
    if (limit === -1 && snapshot === undefined) {
      await this.#index.deleteRange(range)
      return
    }
    const most = limit === -1 ? undefined : limit
    await readAt(options, async (at) => {
      const found = this.#index.keys({ ...range, reverse, limit: most, ...at })
      for await (const { keys } of found.pages()) await this.#index.deleteMany(keys)
    })
  }

  _iterator(options: IteratorOptions<K, V>): LevelIterator<this, K, V> {
    const { snapshot } = options
    return new LevelIterator(this, options, this.#index, (read) => readAt({ snapshot }, read))
  }

  _snapshot(options: object): AbstractSnapshot {
    return new LevelSnapshot(options, this.#client.snapshot({ seconds: SNAPSHOT_SECONDS }))
  }
}

/** Opens an index, or creates it. */
async function openIndex(
  client: Client,
  name: string,
  { createIfMissing, errorIfExists }: OpenOptions,
): Promise<Index<'bytes', 'bytes'>> {
  const definition = { name, keyType: 'bytes', payloadKind: 'bytes', unique: true } as const
  const index = client.index(definition)
  // What is there may have been created by somebody who may do so, with a layout of its own.
  const isMissing = await index.definition().then(
    () => false,
    (error) => {
      if (error instanceof WarpdexError && error.code === 'UNKNOWN_INDEX') return true
      throw error
    },
  )
  if (isMissing && createIfMissing !== true) {
    throw new WarpdexError('UNKNOWN_INDEX', `index "${name}" does not exist, and is not to be created`)
  }
  if (!isMissing && errorIfExists === true) {
    throw new WarpdexError('INDEX_EXISTS', `index "${name}" exists already`)
  }
  if (isMissing) await client.createIndex(definition, { ifNotExists: errorIfExists !== true })
  // Calls leave at once where it is known what the index is.
  const { keyType, payloadKind, unique } = await index.definition()
  if (keyType === 'bytes' && payloadKind === 'bytes' && unique) return index
  const found = `${keyType} keys, ${payloadKind} payloads and unique: ${unique}`
  throw new WarpdexError(
    'WRONG_KEY_TYPE',
    `index "${name}" has ${found}; a Level database is a unique index of bytes keys and bytes payloads`,
  )
}

/** As it is: its types leave out the options, which name the owner. */
const OwnedSnapshot = AbstractSnapshot as new (options: object) => AbstractSnapshot

/** A moment of the database, that of the call which asks the server for it. */
class LevelSnapshot extends OwnedSnapshot {
  readonly opened: Promise<Snapshot>

  constructor(options: object, opened: Promise<Snapshot>) {
    super(options)
    this.opened = opened
    // Whoever reads it is told.
    opened.catch(() => {})
  }

  async _close(): Promise<void> {
    await this.opened.then(
      (snapshot) => snapshot.close(),
      () => {},
    )
  }
}

/** Reads as of a snapshot or, at once and so ahead of all writes that are made later, what there is. */
function readAt<T>({ snapshot }: ReadOptions, read: (at: ReadAtOptions) => Promise<T>): Promise<T> {
  if (!(snapshot instanceof LevelSnapshot)) return read({})
  return snapshot.opened.then((snapshot) => read({ snapshot }))
}
