import { countOf } from '../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import type { LoadResult } from '../../protocol/load.js'
import type { IndexStats } from '../../protocol/replies.js'
import { shown } from '../../protocol/shown.js'
import type { Explanation } from '../../protocol/traversal.js'
import { type IndexDefinition, type KeyType, type PayloadKind, WriteOp } from '../../protocol/types.js'
import type { LoadSource } from './bulk-load.js'
import { CALL_OPTIONS, type CallOptions, checkOptions } from './call-options.js'
import { expiryColumn, type PutOptions } from './expiry.js'
import type { IndexCalls } from './index-calls.js'
import { countRanges, deleteRange, type KeyRange } from './key-ranges.js'
import { type Key, type KeyInput, type Keys, keyColumn, singleKey } from './keys.js'
import {
  DELETE_MANY_OPTIONS,
  DELETE_OPTIONS,
  type DeleteManyOptions,
  type DeleteOptions,
  definitionOf,
  FIND_OPTIONS,
  type FindOptions,
  GET_MANY_OPTIONS,
  type GetManyOptions,
  INSERT_MANY_OPTIONS,
  INSERT_OPTIONS,
  type InsertManyOptions,
  type InsertOptions,
  LOAD_OPTIONS,
  type LoadOptions,
  MODES,
  NEXT_MANY_OPTIONS,
  NEXT_OPTIONS,
  type NextManyOptions,
  type NextOptions,
  PUT_MANY_OPTIONS,
  PUT_OPTIONS,
  type PutManyOptions,
  traversalOf,
} from './options.js'
import { noPayload, type PayloadsInput, type PayloadToStore, singlePayload } from './payload-column.js'
import { Ranges, type RangesOptions } from './range-scan.js'
import { COUNTS, gets, getsOfAll, nexts, readAt, readMany, readOne } from './reads.js'
import type {
  GetAllResult,
  GetResult,
  KeysPage,
  NextEntry,
  NextResult,
  Payload,
  ScanEntry,
  ScanPage,
  ValuesPage,
} from './results.js'
import { entryPages, keyPages, Scan, type ScanOptions, valuePages } from './scan.js'
import { READ_AT_OPTIONS, type ReadAtOptions, versionOf } from './snapshot.js'
import { type ChangeBatch, WATCH_OPTIONS, type WatchOptions } from './watch.js'
import { watchIndex } from './watch-index.js'
import { WriteBatch } from './write-batch.js'
import { itemsOf, keysOf, sendWrite, writeOne } from './writes.js'

/**
 * An index of the server. K and P are its key type and payload kind, where the caller knows them: they are only names for the
 * compiler, the server has the last word. Where the name has come to mean another index, calls go on in that if its types are the same;
 * else one call, and those that are under way with it, fail with `INDEX_CHANGED`, and later ones go by the new types.
 *
 * All methods fail with a WarpdexError: with the server's codes, or `WRONG_KEY_TYPE` and `BAD_REQUEST` before anything is
 * sent, `DEADLINE_EXCEEDED`, `CANCELLED`, or `CONNECTION_LOST`.
 */
export class Index<K extends KeyType = KeyType, P extends PayloadKind = PayloadKind> {
  readonly name: string
  readonly #calls: IndexCalls

  constructor(calls: IndexCalls) {
    this.name = calls.name
    this.#calls = calls
  }

  /** What the index was created as; asked for once. */
  definition(options: CallOptions = {}): Promise<IndexDefinition> {
    return this.#calls.begin('definition', options, CALL_OPTIONS, async (known) => definitionOf(known))
  }

  /** Size of the index and its memory. */
  async stats(options: CallOptions = {}): Promise<IndexStats> {
    checkOptions(options, CALL_OPTIONS, 'stats')
    const { connection, name } = this.#calls
    const reply = await connection.request('stats', { index: name }, {}, connection.bounds(options))
    return reply.fields.indexes[0]
  }

  /** The first payload of a key, or undefined. */
  get(key: KeyInput<K>, options: ReadAtOptions = {}): Promise<Payload<P> | undefined> {
    return this.#calls.begin('get', options, READ_AT_OPTIONS, (known, bounds) => {
      const pick = (got: GetResult<P>, i: number) => got.payload(i)
      return readOne(
        this.#calls,
        readAt(gets<P>(), options),
        singleKey(key, 'get', known),
        pick,
        known,
        bounds,
      )
    })
  }

  /** Whether a key has a payload. */
  has(key: KeyInput<K>, options: ReadAtOptions = {}): Promise<boolean> {
    return this.#calls.begin('has', options, READ_AT_OPTIONS, (known, bounds) => {
      const pick = (counts: Uint32Array, i: number) => counts[i] > 0
      return readOne(this.#calls, readAt(COUNTS, options), singleKey(key, 'has', known), pick, known, bounds)
    })
  }

  /** The number of payloads of a key. */
  count(key: KeyInput<K>, options: ReadAtOptions = {}): Promise<number> {
    return this.#calls.begin('count', options, READ_AT_OPTIONS, (known, bounds) => {
      const pick = (counts: Uint32Array, i: number) => counts[i]
      return readOne(
        this.#calls,
        readAt(COUNTS, options),
        singleKey(key, 'count', known),
        pick,
        known,
        bounds,
      )
    })
  }

  /** All payloads of a key, in the order in which they were inserted. */
  getAll(key: KeyInput<K>, options: ReadAtOptions = {}): Promise<Payload<P>[]> {
    return this.#calls.begin('getAll', options, READ_AT_OPTIONS, (known, bounds) => {
      const pick = (all: GetAllResult<P>, i: number) => all.of(i)
      return readOne(
        this.#calls,
        readAt(getsOfAll<P>(), options),
        singleKey(key, 'getAll', known),
        pick,
        known,
        bounds,
      )
    })
  }

  /**
   * The entry after a key, or before it; undefined where there is none.
   *
   * @param options with `sequence` the search continues within the payloads of the key, after that one
   */
  getNext(key: KeyInput<K>, options: NextOptions = {}): Promise<NextEntry<K, P> | undefined> {
    return this.#calls.begin('getNext', options, NEXT_OPTIONS, (known, bounds) => {
      const { reverse, sequence } = options
      const read = nexts<K, P>({ reverse }, sequence === undefined ? undefined : Uint32Array.of(sequence))
      const pick = (next: NextResult<K, P>, i: number) => next.entry(i)
      return readOne(
        this.#calls,
        readAt(read, options),
        singleKey(key, 'getNext', known),
        pick,
        known,
        bounds,
      )
    })
  }

  /**
   * The first payload of each key.
   *
   * @param options with `sequences` the result has a sequence number for each, from which `getNextMany` goes on
   */
  getMany(keys: Keys<K>, options: GetManyOptions = {}): Promise<GetResult<P>> {
    return this.#calls.begin('getMany', options, GET_MANY_OPTIONS, (known, bounds) => {
      const read = gets<P>({ traversal: traversalOf(options), withSequences: options.sequences })
      return readMany(this.#calls, readAt(read, options), keyColumn(keys, known), known, bounds)
    })
  }

  /** Whether each key has a payload: 1 or 0. */
  hasMany(keys: Keys<K>, options: ReadAtOptions = {}): Promise<Uint8Array> {
    return this.#calls.begin('hasMany', options, READ_AT_OPTIONS, async (known, bounds) => {
      const counts = await readMany(
        this.#calls,
        readAt(COUNTS, options),
        keyColumn(keys, known),
        known,
        bounds,
      )
      return Uint8Array.from(counts, (count) => Math.min(count, 1))
    })
  }

  /** The number of payloads of each key. */
  countMany(keys: Keys<K>, options: ReadAtOptions = {}): Promise<Uint32Array> {
    return this.#calls.begin('countMany', options, READ_AT_OPTIONS, (known, bounds) =>
      readMany(this.#calls, readAt(COUNTS, options), keyColumn(keys, known), known, bounds),
    )
  }

  /** All payloads of each key. */
  getAllMany(keys: Keys<K>, options: ReadAtOptions = {}): Promise<GetAllResult<P>> {
    return this.#calls.begin('getAllMany', options, READ_AT_OPTIONS, (known, bounds) =>
      readMany(this.#calls, readAt(getsOfAll<P>(), options), keyColumn(keys, known), known, bounds),
    )
  }

  /**
   * The entry after each key, or before it.
   *
   * @param options with `sequences` (one a key) the search continues within the payloads of the key, after that one. A walk by the keys and
   * sequences of one result after the other comes by everything that is there all along exactly once.
   */
  getNextMany(keys: Keys<K>, options: NextManyOptions = {}): Promise<NextResult<K, P>> {
    return this.#calls.begin('getNextMany', options, NEXT_MANY_OPTIONS, (known, bounds) => {
      const { reverse, sequences } = options
      const column = keyColumn(keys, known)
      const count = countOf(column)
      if (sequences !== undefined && sequences.length !== count) {
        throw badRequest(`${count} keys came with ${sequences.length} sequences; each has one`)
      }
      const read = nexts<K, P>({ reverse, traversal: traversalOf(options) }, sequences)
      return readMany(this.#calls, readAt(read, options), column, known, bounds)
    })
  }

  /** How a `getMany` of these keys, one at least and no more than a request takes, would be done, and why. */
  explain(keys: Keys<K>, options: FindOptions = {}): Promise<Explanation> {
    return this.#calls.begin('explain', options, FIND_OPTIONS, async (known, bounds) => {
      const call = { op: 'explain', traversal: traversalOf(options), ...keysOf(keys, known) } as const
      const reply = await this.#calls.run(known, (known) => this.#calls.request(known, call, bounds))
      return reply.fields.explanation
    })
  }

  /** Entries in the order of their keys, those of one key in the order in which they were inserted. */
  entries(options: ScanOptions<K> = {}): Scan<K, ScanPage<K, P>, ScanEntry<K, P>> {
    return new Scan(this.#calls, options, entryPages<K, P>())
  }

  /** As `entries`, without their payloads: each key as often as it has payloads. */
  keys(options: ScanOptions<K> = {}): Scan<K, KeysPage<K>, Key<K>> {
    return new Scan(this.#calls, options, keyPages<K>())
  }

  /** As `entries`, without their keys. */
  values(options: ScanOptions<K> = {}): Scan<K, ValuesPage<P>, Payload<P>> {
    return new Scan(this.#calls, options, valuePages<P>())
  }

  /**
   * Deletes all that a range of keys holds, however much that is, as a whole.
   * @returns how many entries went
   */
  deleteRange(range: KeyRange<K>, options: CallOptions = {}): Promise<number> {
    return this.#calls.begin('deleteRange', options, CALL_OPTIONS, (known, bounds) =>
      deleteRange(this.#calls, range, known, bounds),
    )
  }

  /** How many entries each of these ranges has. */
  countRanges(ranges: readonly KeyRange<K>[], options: ReadAtOptions = {}): Promise<number[]> {
    return this.#calls.begin('countRanges', options, READ_AT_OPTIONS, (known, bounds) =>
      countRanges(this.#calls, ranges, versionOf(options), known, bounds),
    )
  }

  /** As `entries`, of many ranges at a time. */
  ranges(options: RangesOptions<K>): Ranges<K, P> {
    return new Ranges<K, P>(this.#calls, options)
  }

  /** Puts a payload in the place of all that the key has. */
  put(key: KeyInput<K>, payload: PayloadToStore<P>, options: PutOptions = {}): Promise<void> {
    return this.#calls.begin('put', options, PUT_OPTIONS, (known, bounds) => {
      const item = {
        op: WriteOp.replace,
        key: singleKey(key, 'put', known),
        payload: singlePayload(payload, known),
        expireAt: expiryColumn(options.expireAt, 1),
      }
      return writeOne(this.#calls, item, known, bounds, () => {})
    })
  }

  /**
   * Adds a payload to those that the key has. In a unique index, and where `ifExists` is not `add`, a key that is there stays as it is.
   *
   * @returns whether the payload is stored
   * @throws WarpdexError also `KEY_EXISTS` where `ifExists` is `error`
   */
  insert(key: KeyInput<K>, payload: PayloadToStore<P>, options: InsertOptions = {}): Promise<boolean> {
    return this.#calls.begin('insert', options, INSERT_OPTIONS, (known, bounds) => {
      const { ifExists = 'add' } = options
      const expireAt = expiryColumn(options.expireAt, 1)
      const op = ifExists === 'add' ? WriteOp.insert : WriteOp.insertIfAbsent
      const item = {
        op,
        key: singleKey(key, 'insert', known),
        payload: singlePayload(payload, known),
        expireAt,
      }
      return writeOne(this.#calls, item, known, bounds, (isStored) => {
        if (isStored || ifExists !== 'error') return isStored
        throw new WarpdexError('KEY_EXISTS', `key ${shown(key)} is in index "${this.name}" already`)
      })
    })
  }

  /**
   * Deletes all payloads of the key or, with `payload`, those that equal it.
   *
   * @returns whether there were any
   */
  delete(key: KeyInput<K>, options: DeleteOptions<P> = {}): Promise<boolean> {
    return this.#calls.begin('delete', options, DELETE_OPTIONS, (known, bounds) => {
      const { payload = noPayload(known) } = options
      const op = options.payload === undefined ? WriteOp.deleteKey : WriteOp.deletePair
      const item = { op, key: singleKey(key, 'delete', known), payload: singlePayload(payload, known) }
      return writeOne(this.#calls, item, known, bounds, (wasThere) => wasThere)
    })
  }

  /**
   * Adds one payload a key, to those that the key has unless the index is unique: then, or where `ifExists` is `keep`, a key that is there
   * stays as it is. A batch over the limits of a request goes out in several, one after the other, and ahead of all later requests to
   * the index.
   *
   * @returns a ResultCode for each item
   * @throws BatchError where it goes out in several requests: it says how many of the first items are stored
   */
  insertMany(
    keys: Keys<K>,
    payloads: PayloadsInput<P>,
    options: InsertManyOptions = {},
  ): Promise<Uint8Array> {
    return this.#calls.begin('insertMany', options, INSERT_MANY_OPTIONS, (known, bounds) => {
      const mode = MODES[options.ifExists ?? 'add']
      const traversal = traversalOf(options)
      const write = { op: 'insert', mode, traversal, ...itemsOf(keys, payloads, known, options) } as const
      return sendWrite(this.#calls, write, known, bounds)
    })
  }

  /**
   * Puts one payload a key in the place of all that the key has. Large batches go out as those of `insertMany` do.
   *
   * @returns a ResultCode for each item
   * @throws BatchError as `insertMany` does
   */
  putMany(keys: Keys<K>, payloads: PayloadsInput<P>, options: PutManyOptions = {}): Promise<Uint8Array> {
    return this.#calls.begin('putMany', options, PUT_MANY_OPTIONS, (known, bounds) => {
      const traversal = traversalOf(options)
      const write = {
        op: 'insert',
        mode: MODES.replace,
        traversal,
        ...itemsOf(keys, payloads, known, options),
      } as const
      return sendWrite(this.#calls, write, known, bounds)
    })
  }

  /**
   * Stores many rows, as if they were inserted in their order, without a result code for each. The server makes them durable and
   * visible in large chunks, each as a whole, and answers reads meanwhile.
   *
   * @throws LoadError that says how many rows are stored
   */
  async bulkLoad(source: LoadSource<K, P>, options: LoadOptions = {}): Promise<LoadResult> {
    checkOptions(options, LOAD_OPTIONS, 'bulkLoad')
    const { connection } = this.#calls
    const bounds = connection.bounds({ signal: options.signal })
    // Few pages load any.
    return connection.during(async () => {
      const { bulkLoad } = await import('./bulk-load.js')
      return bulkLoad(this.#calls, source as LoadSource, options, bounds)
    })
  }

  /**
   * Deletes all payloads of each key or, with `payloads` (one a key), those that equal the given one. Large batches go out as those of
   * `insertMany` do.
   *
   * @returns a ResultCode for each item
   * @throws BatchError as `insertMany` does
   */
  deleteMany(keys: Keys<K>, options: DeleteManyOptions<P> = {}): Promise<Uint8Array> {
    return this.#calls.begin('deleteMany', options, DELETE_MANY_OPTIONS, (known, bounds) => {
      const { payloads } = options
      const items = payloads === undefined ? keysOf(keys, known) : itemsOf(keys, payloads, known)
      const write = { op: 'delete', traversal: traversalOf(options), ...items } as const
      return sendWrite(this.#calls, write, known, bounds)
    })
  }

  /**
   * What becomes durable from the first `next()` on, or behind `from`, each batch once, over lost connections too; until `break`, `signal` or the client's `close()`.
   * Of several replica sets of a cluster each one's batches are in their order, and those of different ones as they come.
   * @throws WarpdexError `POSITION_GONE`, `INDEX_CHANGED`, `UNKNOWN_INDEX`
   */
  watch(options: WatchOptions = {}): AsyncGenerator<ChangeBatch<K, P>, void, undefined> {
    checkOptions(options, WATCH_OPTIONS, 'watch')
    return watchIndex<K, P>(this.#calls, options)
  }

  /** An ordered mix of writes, which is gathered item by item, and applied as a whole by its `write()`. */
  batch(): WriteBatch<K, P> {
    return new WriteBatch<K, P>(this.#calls)
  }
}
