import { asBytes } from '../../protocol/columns.js'
import { wireColumn } from '../../protocol/data-request.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import type { LoadResult } from '../../protocol/load.js'
import type { IndexStats } from '../../protocol/replies.js'
import { type Rows, rowCount, rowsOf } from '../../protocol/rows.js'
import type { Explanation, Traversal } from '../../protocol/traversal.js'
import { parseTraversal } from '../../protocol/traversal-options.js'
import {
  type IndexDefinition,
  isFixedKeyType,
  type KeyType,
  keyWidth,
  type PayloadKind,
  SEQUENCE_BYTES,
} from '../../protocol/types.js'
import type { WriteItems } from '../../protocol/write-pieces.js'
import { bulkLoad, LOAD_OPTIONS, type LoadOptions, type LoadSource } from './bulk-load.js'
import { checkOptions } from './check-options.js'
import type { Connection } from './connection.js'
import { GetBatcher } from './get-batcher.js'
import type { IndexCall, IndexCalls, KnownIndex } from './index-calls.js'
import {
  DELETE_OPTIONS,
  type DeleteOptions,
  definitionOf,
  INSERT_OPTIONS,
  type InsertOptions,
  NEXT_OPTIONS,
  type NextOptions,
} from './index-options.js'
import { sendWrites } from './index-writes.js'
import { askInParts } from './key-parts.js'
import { checkKey, type KeyInput, type Keys, keyColumn, wireKeys } from './keys.js'
import {
  type Bounds,
  CALL_OPTIONS,
  type CallOptions,
  FIND_OPTIONS,
  type FindOptions,
  withinBounds,
} from './options.js'
import { type PayloadsInput, payloadColumn } from './payload-column.js'
import type { Payload } from './payloads.js'
import { rangeColumns, scanColumns } from './range-columns.js'
import { rangeEnds } from './range-ends.js'
import { checkRanges, firstPage, type RangeScan, type RangesOptions, type RangesPage } from './range-scan.js'
import type { RememberedAnswer } from './remembered-answer.js'
import {
  each,
  eachEntry,
  type Part,
  readBitmap,
  readBytes,
  readGroups,
  readKeys,
  readNumbers,
  readPayloads,
  readTokens,
} from './reply-columns.js'
import { GetAllResult, GetResult, NextResult, ScanPage } from './results.js'
import { type FetchedPage, SCAN_OPTIONS, Scan, type ScanOptions } from './scan.js'
import { checkMixedWrite, filledPayloads, type MixedWrite, opColumn, type WriteBatch } from './write-batch.js'
import { writeColumns } from './write-pieces.js'

/**
 * An index of the server. K and P are its key type and payload kind, where the caller knows them: they are only names for the
 * compiler, the server has the last word. Where the index was dropped and made anew, calls go on in the new one if its types are the same;
 * else one call, and those that are under way with it, fail with `INDEX_CHANGED`, and later ones go by the new types.
 *
 * All methods fail with a WarpdexError: with the server's codes, or `WRONG_KEY_TYPE` and `BAD_REQUEST` before anything is
 * sent, `DEADLINE_EXCEEDED`, `CANCELLED`, or `CONNECTION_LOST`.
 */
export class Index<K extends KeyType = KeyType, P extends PayloadKind = PayloadKind> {
  readonly name: string
  readonly #calls: IndexCalls
  readonly #connection: Connection
  readonly #definition: RememberedAnswer<KnownIndex>
  readonly #single: GetBatcher<KeyInput<K>, Payload<P>>

  constructor(calls: IndexCalls) {
    const { name, connection, definition } = calls
    this.name = name
    this.#calls = calls
    this.#connection = connection
    this.#definition = definition
    this.#single = new GetBatcher(
      (keys, definition) => this.#getBy(definition, keys, undefined, connection.partBounds({})),
      (flush) => connection.order.gather(name, flush),
    )
  }

  /** What the index was created as; asked for once. */
  async definition(options: CallOptions = {}): Promise<IndexDefinition> {
    checkOptions(options, CALL_OPTIONS, 'definition')
    return definitionOf(await this.#definition.get(this.#connection.bounds(options)))
  }

  /** Size of the index and its memory. */
  async stats(options: CallOptions = {}): Promise<IndexStats> {
    checkOptions(options, CALL_OPTIONS, 'stats')
    return this.#calls.stats(this.#connection.bounds(options))
  }

  /** The first payload of each key. */
  get(keys: Keys<K>, options: FindOptions = {}): Promise<GetResult<P>> {
    try {
      checkOptions(options, FIND_OPTIONS, 'get')
      return this.#get(keys, parseTraversal(options), this.#connection.bounds(options))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** How a get of these keys, one at least and no more than a request takes, would be done, and why. */
  async explain(keys: Keys<K>, options: FindOptions = {}): Promise<Explanation> {
    checkOptions(options, FIND_OPTIONS, 'explain')
    const bounds = this.#connection.bounds(options)
    const definition = this.#definition.known ?? (await this.#definition.get(bounds))
    const column = keyColumn(keys, definition)
    const columns = { keys: wireKeys(column, definition) }
    const count = countOf(column, definition)
    const call = { op: 'explain', traversal: parseTraversal(options), count, columns } as const
    const reply = await this.#calls.run(definition, (known) => this.#calls.request(known, call, bounds))
    return reply.fields.explanation
  }

  /** The first payload of one key, or undefined. Calls of the same turn share a request. */
  async getOne(key: KeyInput<K>, options: CallOptions = {}): Promise<Payload<P> | undefined> {
    checkOptions(options, CALL_OPTIONS, 'getOne')
    const bounds = this.#connection.bounds(options)
    const definition = this.#definition.known ?? (await this.#definition.get(bounds))
    // A key that does not fit must not spoil the request that it would share.
    checkKey(key, definition)
    return withinBounds<Payload<P> | undefined>(
      bounds,
      (resolve, reject) => this.#single.get(key, definition, resolve, reject),
      () => {},
    )
  }

  /** All payloads of each key. */
  async getAll(keys: Keys<K>, options: CallOptions = {}): Promise<GetAllResult<P>> {
    checkOptions(options, CALL_OPTIONS, 'getAll')
    const bounds = this.#connection.bounds(options)
    const definition = this.#definition.known ?? (await this.#definition.get(bounds))
    const column = keyColumn(keys, definition)
    return this.#askForKeys({ op: 'getAll' }, { keys: column }, definition, bounds, (parts) => {
      return new GetAllResult(readGroups(parts), readPayloads(parts, definition, eachEntry))
    })
  }

  /** The number of payloads of each key. */
  async count(keys: Keys<K>, options: CallOptions = {}): Promise<Uint32Array> {
    checkOptions(options, CALL_OPTIONS, 'count')
    const bounds = this.#connection.bounds(options)
    const definition = this.#definition.known ?? (await this.#definition.get(bounds))
    const column = keyColumn(keys, definition)
    return this.#askForKeys({ op: 'count' }, { keys: column }, definition, bounds, (parts) =>
      readNumbers(parts, 'counts'),
    )
  }

  /**
   * The entry after each key, or before it.
   *
   * @param options with `sequences` (one a key) the search continues within the payloads of the key, after that place
   */
  async getNext(keys: Keys<K>, options: NextOptions = {}): Promise<NextResult<K, P>> {
    checkOptions(options, NEXT_OPTIONS, 'getNext')
    const bounds = this.#connection.bounds(options)
    const definition = this.#definition.known ?? (await this.#definition.get(bounds))
    const { reverse, sequences } = options
    const column = keyColumn(keys, definition)
    const count = countOf(column, definition)
    if (sequences !== undefined && sequences.length !== count) {
      const message = `${count} keys came with ${sequences.length} sequences; each has one`
      throw badRequest(message)
    }
    const items = { keys: column, places: sequences && { bytes: asBytes(sequences) } }
    const call = { op: 'getNext', reverse, traversal: parseTraversal(options) } as const
    return this.#askForKeys(call, items, definition, bounds, (parts) => {
      return new NextResult<K, P>(
        readBitmap(parts, 'found'),
        readKeys<K>(parts, definition, each),
        readPayloads<P>(parts, definition, each),
        readNumbers(parts, 'sequences'),
      )
    })
  }

  /** Entries in the order of their keys, those of one key in the order in which they were inserted. */
  scan(options: ScanOptions<K> = {}): Scan<K, P> {
    checkOptions(options, SCAN_OPTIONS, 'scan')
    return new Scan<K, P>((limit, after, of) => this.#scanPage(options, limit, after, of), options)
  }

  /**
   * The first entries of each of many ranges, in as few requests as it takes. `next()` of the page that comes back continues
   * all ranges that have more.
   */
  async scanRanges(options: RangesOptions<K>): Promise<RangesPage<K, P>> {
    checkRanges(options)
    const bounds = this.#connection.bounds(options)
    const definition = this.#definition.known ?? (await this.#definition.get(bounds))
    const { limit, reverse, fromExclusive, toExclusive } = options
    const scanOf = (known: KnownIndex): RangeScan => ({
      definition: known,
      limit,
      ask: (ranges, limit, bounds) => {
        const given = { limit, reverse, fromExclusive, toExclusive }
        const columns = scanColumns(ranges, known)
        const call = { op: 'scan', ...given, count: ranges.count, columns } as const
        const ask = () => this.#calls.request(known, call, bounds)
        return ranges.tokens === undefined ? ask() : this.#calls.goOn(known, ask)
      },
      bounds: () => this.#connection.bounds(options),
    })
    return this.#calls.run(definition, async (known) =>
      firstPage<K, P>(scanOf(known), rangeColumns(options, known), bounds),
    )
  }

  /**
   * Stores one payload a key. A batch over the limits of a request goes out in several, one after the other, and ahead of all later
   * requests to the index.
   *
   * @returns a ResultCode for each item
   * @throws BatchError where it goes out in several requests: it says how many of the first items are stored
   */
  async insert(keys: Keys<K>, payloads: PayloadsInput, options: InsertOptions = {}): Promise<Uint8Array> {
    checkOptions(options, INSERT_OPTIONS, 'insert')
    const bounds = this.#connection.bounds(options)
    const definition = this.#definition.known ?? (await this.#definition.get(bounds))
    const column = keyColumn(keys, definition)
    const items = { keys: column, payloads: payloadColumn(payloads, definition, countOf(column, definition)) }
    const write = { op: 'insert', mode: options.mode, traversal: parseTraversal(options) } as const
    return sendWrites(this.#calls, write, items, definition, bounds)
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
   * `insert` do.
   *
   * @returns a ResultCode for each item
   * @throws BatchError as `insert` does
   */
  async delete(keys: Keys<K>, options: DeleteOptions = {}): Promise<Uint8Array> {
    checkOptions(options, DELETE_OPTIONS, 'delete')
    const bounds = this.#connection.bounds(options)
    const definition = this.#definition.known ?? (await this.#definition.get(bounds))
    const column = keyColumn(keys, definition)
    const count = countOf(column, definition)
    const given = options.payloads
    const payloads = given === undefined ? undefined : payloadColumn(given, definition, count)
    const items = { keys: column, payloads }
    const write = { op: 'delete', traversal: parseTraversal(options) } as const
    return sendWrites(this.#calls, write, items, definition, bounds)
  }

  /**
   * Applies an ordered mix of writes, all or none.
   *
   * @returns a ResultCode for each item
   */
  async write(batch: WriteBatch<K, P> | MixedWrite<K>, options: FindOptions = {}): Promise<Uint8Array> {
    checkOptions(options, FIND_OPTIONS, 'write')
    checkMixedWrite(batch)
    const bounds = this.#connection.bounds(options)
    const definition = this.#definition.known ?? (await this.#definition.get(bounds))
    const keys = keyColumn(batch.keys, definition)
    const count = countOf(keys, definition)
    const ops = opColumn(batch.ops, count)
    const payloads = filledPayloads(batch.payloads, ops, definition)
    const items = { keys, payloads: payloads && payloadColumn(payloads, definition, count) }
    const columns = { ops: wireColumn('u8', ops), ...writeColumns(items, definition) }
    const call = { op: 'write', traversal: parseTraversal(options), count, columns } as const
    const reply = await this.#calls.run(definition, (known) => {
      return this.#calls.request(known, { ...call, writeId: this.#connection.newWriteId() }, bounds)
    })
    return readBytes([{ reply, count }], 'codes')
  }

  /** No async function, since these take as long as all else that is done for a small request. */
  #get(keys: Keys<K>, traversal: Traversal | undefined, bounds: Bounds): Promise<GetResult<P>> {
    const { known } = this.#definition
    if (known !== undefined) return this.#getBy(known, keys, traversal, bounds)
    return this.#definition.get(bounds).then((definition) => this.#getBy(definition, keys, traversal, bounds))
  }

  #getBy(
    definition: KnownIndex,
    keys: Keys<K>,
    traversal: Traversal | undefined,
    bounds: Bounds,
  ): Promise<GetResult<P>> {
    const column = keyColumn(keys, definition)
    return this.#askForKeys({ op: 'get', traversal }, { keys: column }, definition, bounds, (parts) => {
      return new GetResult(readBitmap(parts, 'found'), readPayloads<P>(parts, definition, each))
    })
  }

  #askForKeys<T>(
    read: Omit<IndexCall<'get' | 'getAll' | 'count' | 'getNext'>, 'count' | 'columns'>,
    { keys, places }: { readonly keys: Rows; readonly places?: Rows | undefined },
    definition: KnownIndex,
    bounds: Bounds,
    join: (parts: readonly Part[]) => T,
  ): Promise<T> {
    const widths = { keys: keyWidth(definition.keyType), payloads: SEQUENCE_BYTES }
    const askBy = (known: KnownIndex): Promise<T> => {
      const ask = ({ keys, payloads: places }: WriteItems) => {
        const sequences = places && wireColumn('u32', places.bytes)
        const columns = { keys: wireKeys(keys, known), sequences }
        return this.#calls.request(known, { ...read, count: countOf(keys, known), columns }, bounds)
      }
      return askInParts({ keys, payloads: places }, widths, ask, join, (error) =>
        // A place within a key is one among the payloads that it had.
        places === undefined
          ? this.#calls.again(error, known, askBy)
          : this.#calls.goOn(known, () => Promise.reject(error)),
      )
    }
    return askBy(definition)
  }

  /** @param of the index that the pages before were of */
  async #scanPage(
    options: ScanOptions<K>,
    limit: number,
    after: Uint8Array | undefined,
    of: KnownIndex | undefined,
  ): Promise<FetchedPage<K, P>> {
    const bounds = this.#connection.bounds(options)
    const definition = of ?? this.#definition.known ?? (await this.#definition.get(bounds))
    const fetch = (known: KnownIndex) => this.#fetchPage({ ...options, limit, after }, known, bounds)
    if (after === undefined) return this.#calls.run(definition, fetch)
    return this.#calls.goOn(definition, () => fetch(definition))
  }

  async #fetchPage(
    options: ScanOptions<K> & { readonly limit: number },
    known: KnownIndex,
    bounds: Bounds,
  ): Promise<FetchedPage<K, P>> {
    const { limit, after, reverse } = options
    const { from, to, fromExclusive, toExclusive } = rangeEnds(options, known)
    const tokens = after && (isFixedKeyType(known.keyType) ? { bytes: after } : rowsOf([after]))
    const given = { limit, reverse, fromExclusive, toExclusive }
    const columns = scanColumns({ from, to, tokens }, known)
    const call = { op: 'scan', ...given, count: 1, columns } as const
    const parts = [{ reply: await this.#calls.request(known, call, bounds), count: 1, limit }]
    readGroups(parts)
    const page = new ScanPage<K, P>(
      readKeys<K>(parts, known, eachEntry),
      readPayloads<P>(parts, known, eachEntry),
      readTokens(parts, known).bytes,
    )
    const more = readBytes(parts, 'more')[0] === 1
    if (more && page.length === 0) {
      throw new WarpdexError('INTERNAL', 'the server sent an empty page and says that there is more')
    }
    return { page, more, of: known }
  }
}

function countOf(keys: Rows, { keyType }: IndexDefinition): number {
  return rowCount(keys, keyWidth(keyType))
}
