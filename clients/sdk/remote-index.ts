import { asBytes, countOf } from '../../protocol/columns.js'
import { badRequest } from '../../protocol/errors.js'
import type { LoadResult } from '../../protocol/load.js'
import type { IndexStats } from '../../protocol/replies.js'
import type { Explanation } from '../../protocol/traversal.js'
import { type IndexDefinition, type KeyType, type PayloadKind, SEQUENCE_BYTES } from '../../protocol/types.js'
import { bulkLoad, LOAD_OPTIONS, type LoadOptions, type LoadSource } from './bulk-load.js'
import { type Bounds, CALL_OPTIONS, type CallOptions, checkOptions, withinBounds } from './call-options.js'
import type { DataCall } from './data-call.js'
import type { IndexCalls, KnownIndex } from './index-calls.js'
import { type AnyKeys, checkKey, type KeyInput, type Keys, keyColumn } from './keys.js'
import {
  DELETE_OPTIONS,
  type DeleteOptions,
  definitionOf,
  FIND_OPTIONS,
  type FindOptions,
  GET_OPTIONS,
  type GetOptions,
  INSERT_OPTIONS,
  type InsertOptions,
  MODES,
  NEXT_OPTIONS,
  type NextOptions,
  traversalOf,
} from './options.js'
import { type PayloadsInput, payloadColumn } from './payload-column.js'
import { firstPage, RANGES_OPTIONS, type RangesOptions, type RangesPage } from './range-scan.js'
import { each, eachEntry, readBitmap, readGroups, readKeys, readNumbers, readPayloads } from './reply.js'
import { GetAllResult, GetResult, NextResult, type Payload } from './results.js'
import { Scan, type ScanOptions } from './scan.js'
import { WriteBatch } from './write-batch.js'
import { sendWrite } from './writes.js'

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
  /** Single gets of the turn, which share a request. */
  #single: SingleGets<K, P> | undefined

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

  /**
   * The first payload of each key.
   *
   * @param options with `sequences` the result has a sequence number for each, from which `getNextMany` goes on
   */
  getMany(keys: Keys<K>, options: GetOptions = {}): Promise<GetResult<P>> {
    return this.#calls.begin('getMany', options, GET_OPTIONS, (known, bounds) =>
      this.#get(keys, { traversal: traversalOf(options), withSequences: options.sequences }, known, bounds),
    )
  }

  /** How a `getMany` of these keys, one at least and no more than a request takes, would be done, and why. */
  explain(keys: Keys<K>, options: FindOptions = {}): Promise<Explanation> {
    return this.#calls.begin('explain', options, FIND_OPTIONS, async (known, bounds) => {
      const call = { op: 'explain', traversal: traversalOf(options), ...keysOf(keys, known) } as const
      const reply = await this.#calls.run(known, (known) => this.#calls.request(known, call, bounds))
      return reply.fields.explanation
    })
  }

  /** The first payload of one key, or undefined. Calls of the same turn share a request. */
  get(key: KeyInput<K>, options: CallOptions = {}): Promise<Payload<P> | undefined> {
    return this.#calls.begin('get', options, CALL_OPTIONS, (known, bounds) => {
      // A key that does not fit must not spoil the request that it would share.
      checkKey(key, 'get', known)
      return withinBounds<Payload<P> | undefined>(bounds, (resolve, reject) => {
        const gets = this.#single?.known === known ? this.#single : this.#gather(known)
        gets.keys.push(key)
        gets.waiting.push({ resolve, reject })
      })
    })
  }

  /** All payloads of each key. */
  getAllMany(keys: Keys<K>, options: CallOptions = {}): Promise<GetAllResult<P>> {
    return this.#calls.begin('getAllMany', options, CALL_OPTIONS, (known, bounds) =>
      this.#calls.ask(known, { op: 'getAll', ...keysOf(keys, known) }, bounds, (parts) => {
        return new GetAllResult(readGroups(parts), readPayloads(parts, known, eachEntry))
      }),
    )
  }

  /** The number of payloads of each key. */
  countMany(keys: Keys<K>, options: CallOptions = {}): Promise<Uint32Array> {
    return this.#calls.begin('countMany', options, CALL_OPTIONS, (known, bounds) =>
      this.#calls.ask(known, { op: 'count', ...keysOf(keys, known) }, bounds, (parts) =>
        readNumbers(parts, 'counts'),
      ),
    )
  }

  /**
   * The entry after each key, or before it.
   *
   * @param options with `sequences` (one a key) the search continues within the payloads of the key, after that one. A walk by the keys and
   * sequences of one result after the other comes by everything that is there all along exactly once.
   */
  getNextMany(keys: Keys<K>, options: NextOptions = {}): Promise<NextResult<K, P>> {
    return this.#calls.begin('getNextMany', options, NEXT_OPTIONS, (known, bounds) => {
      const { reverse, sequences } = options
      const { count, columns } = keysOf(keys, known)
      if (sequences !== undefined && sequences.length !== count) {
        throw badRequest(`${count} keys came with ${sequences.length} sequences; each has one`)
      }
      const places = sequences && { bytes: asBytes(sequences), width: SEQUENCE_BYTES }
      const call = {
        op: 'getNext',
        reverse,
        traversal: traversalOf(options),
        count,
        columns: { ...columns, sequences: places },
      } as const
      return this.#calls.ask(known, call, bounds, (parts) => {
        return new NextResult<K, P>(
          readBitmap(parts, 'found'),
          readKeys<K>(parts, known, each),
          readPayloads<P>(parts, known, each),
          readNumbers(parts, 'sequences'),
        )
      })
    })
  }

  /** Entries in the order of their keys, those of one key in the order in which they were inserted. */
  entries(options: ScanOptions<K> = {}): Scan<K, P> {
    return new Scan<K, P>(this.#calls, options)
  }

  /**
   * The first entries of each of many ranges, in as few requests as it takes. `next()` of the page that comes back continues
   * all ranges that have more.
   */
  async ranges(options: RangesOptions<K>): Promise<RangesPage<K, P>> {
    if (Object(options).prefix !== undefined) {
      throw badRequest(
        'ranges has from and to, and no prefix; entries({prefix}) goes through the keys that begin with one, and leading parts of tuples as from and to are prefixes',
      )
    }
    return this.#calls.begin('ranges', options, RANGES_OPTIONS, (known, bounds) =>
      firstPage<K, P>(this.#calls, options, known, bounds),
    )
  }

  /**
   * Adds one payload a key, to those that the key has unless the index is unique: then, or where `ifExists` is `keep`, a key that is there
   * stays as it is. A batch over the limits of a request goes out in several, one after the other, and ahead of all later requests to
   * the index.
   *
   * @returns a ResultCode for each item
   * @throws BatchError where it goes out in several requests: it says how many of the first items are stored
   */
  insertMany(keys: Keys<K>, payloads: PayloadsInput, options: InsertOptions = {}): Promise<Uint8Array> {
    return this.#calls.begin('insertMany', options, INSERT_OPTIONS, (known, bounds) => {
      const mode = MODES[options.ifExists ?? 'add']
      const traversal = traversalOf(options)
      const write = { op: 'insert', mode, traversal, ...itemsOf(keys, payloads, known) } as const
      return sendWrite(this.#calls, write, known, bounds)
    })
  }

  /**
   * Puts one payload a key in the place of all that the key has. Large batches go out as those of `insertMany` do.
   *
   * @returns a ResultCode for each item
   * @throws BatchError as `insertMany` does
   */
  putMany(keys: Keys<K>, payloads: PayloadsInput, options: FindOptions = {}): Promise<Uint8Array> {
    return this.#calls.begin('putMany', options, FIND_OPTIONS, (known, bounds) => {
      const traversal = traversalOf(options)
      const write = {
        op: 'insert',
        mode: MODES.replace,
        traversal,
        ...itemsOf(keys, payloads, known),
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
  async bulkLoad(source: LoadSource<K>, options: LoadOptions = {}): Promise<LoadResult> {
    checkOptions(options, LOAD_OPTIONS, 'bulkLoad')
    return bulkLoad(this.#calls, source, options)
  }

  /**
   * Deletes all payloads of each key or, with `payloads` (one a key), those that equal the given one. Large batches go out as those of
   * `insertMany` do.
   *
   * @returns a ResultCode for each item
   * @throws BatchError as `insertMany` does
   */
  deleteMany(keys: Keys<K>, options: DeleteOptions = {}): Promise<Uint8Array> {
    return this.#calls.begin('deleteMany', options, DELETE_OPTIONS, (known, bounds) => {
      const { payloads } = options
      const items = payloads === undefined ? keysOf(keys, known) : itemsOf(keys, payloads, known)
      const write = { op: 'delete', traversal: traversalOf(options), ...items } as const
      return sendWrite(this.#calls, write, known, bounds)
    })
  }

  /** An ordered mix of writes, which is gathered item by item, and applied as a whole by its `write()`. */
  batch(): WriteBatch<K, P> {
    return new WriteBatch<K, P>(this.#calls)
  }

  /** Begins to gather single gets, which leave before the next request to the index or at the end of the turn. */
  #gather(known: KnownIndex): SingleGets<K, P> {
    const gets: SingleGets<K, P> = { known, keys: [], waiting: [] }
    const { connection, name } = this.#calls
    const ask = async () => {
      this.#single = undefined
      try {
        const answer = await this.#get(gets.keys, {}, known, connection.bounds({}, true))
        for (const [i, { resolve }] of gets.waiting.entries()) resolve(answer.payload(i))
      } catch (error) {
        for (const { reject } of gets.waiting) reject(error)
      }
    }
    // Whatever is gathered by another definition leaves now.
    connection.order.gather(name, () => void ask())
    this.#single = gets
    return gets
  }

  #get(
    keys: Keys<K>,
    asks: Pick<DataCall, 'traversal' | 'withSequences'>,
    known: KnownIndex,
    bounds: Bounds,
  ): Promise<GetResult<P>> {
    return this.#calls.ask(known, { op: 'get', ...asks, ...keysOf(keys, known) }, bounds, (parts) => {
      const payloads = readPayloads<P>(parts, known, each)
      const sequences = asks.withSequences ? readNumbers(parts, 'sequences') : undefined
      return new GetResult(readBitmap(parts, 'found'), payloads, sequences)
    })
  }
}

/** Keys that are asked for one by one, and who waits for their payloads. */
interface SingleGets<K extends KeyType, P extends PayloadKind> {
  readonly known: KnownIndex
  readonly keys: KeyInput<K>[]
  readonly waiting: {
    readonly resolve: (payload: Payload<P> | undefined) => void
    readonly reject: (reason: unknown) => void
  }[]
}

function keysOf(keys: AnyKeys, definition: IndexDefinition) {
  const column = keyColumn(keys, definition)
  return { count: countOf(column), columns: { keys: column } }
}

function itemsOf(keys: AnyKeys, payloads: PayloadsInput, definition: IndexDefinition) {
  const { count, columns } = keysOf(keys, definition)
  return { count, columns: { ...columns, payloads: payloadColumn(payloads, definition, count) } }
}
