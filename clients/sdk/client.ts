/// <reference lib="esnext.disposable" preserve="true" />
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import type { Sections } from '../../protocol/frame.js'
import type { QueryExplanation } from '../../protocol/query/explanation.js'
import { packQuery } from '../../protocol/query/pack-query.js'
import { parseColumns, type RelationDefinition, type RelationInfo } from '../../protocol/relation.js'
import type { AppendedRows } from '../../protocol/relation-batch.js'
import type { BackupInfo, ReplyFields, SnapshotInfo } from '../../protocol/replies.js'
import type { IndexDefinition, KeyType, PayloadKind } from '../../protocol/types.js'
import { writeParts } from './atomic-write.js'
import {
  ANYTHING,
  CALL_OPTIONS,
  CALLBACK,
  type CallOptions,
  checkName,
  checkOptions,
  FLAG,
  type Kind,
  type Kinds,
  NUMBER,
  TEXT,
} from './call-options.js'
import type { SplitProgress } from './cluster/split-index.js'
import type { Connection } from './connection.js'
import type { ImportFileOptions } from './files/import-file.js'
import { IndexCalls } from './index-calls.js'
import type { IndexTypes } from './index-types.js'
import type { AnyKeys, Keys } from './keys.js'
import { NodeConnection } from './node-connection.js'
import {
  type ConnectOptions,
  CREATE_INDEX_OPTIONS,
  CREATE_OPTIONS,
  type CreateIndexOptions,
  type CreateOptions,
  checkConnect,
  DEFINITION_FIELDS,
  DROP_OPTIONS,
  type DropOptions,
  FIND_OPTIONS,
  type FindOptions,
  layoutOf,
  traversalOf,
} from './options.js'
import type { Position } from './position.js'
import { checkQuery, type Query } from './query/query.js'
import { QueryResult, type Question } from './query/query-result.js'
import type { TableInputs } from './query/query-tables.js'
import { type SqlValues, sqlQuestion } from './query/sql.js'
import { Index } from './remote-index.js'
import { Relation, RowBatch } from './remote-relation.js'
import { SNAPSHOT_OPTIONS, Snapshot, type SnapshotOptions } from './snapshot.js'
import { WriteBatch } from './write-batch.js'

/**
 * Connects to a server.
 *
 * @param url such as `ws://127.0.0.1:7070`, `wss://…` where the server speaks TLS, or in Node `ws+unix:/run/warpdex.sock` for a Unix socket; of a cluster
 * those of some nodes, by which the client finds the others
 * @throws WarpdexError `CONNECTION_LOST` when there is no answer, `UNAUTHORISED` for a missing or unknown token (in browsers `CONNECTION_LOST`,
 * since they do not tell), `BAD_REQUEST`
 */
export async function connect(
  url: string | readonly string[],
  options: ConnectOptions = {},
): Promise<Client> {
  checkConnect(url, options)
  const set = options.set ?? setIn([url].flat())
  const connection = await NodeConnection.open(url, { ...options, set })
  if (connection.server.sets === undefined || set !== undefined) return new Client(connection)
  const { ClusterConnection } = await import('./cluster/cluster-connection.js')
  return new Client(await ClusterConnection.openBy(connection, options))
}

export interface CalibrationOptions extends CallOptions {
  /** Measure anew. */
  readonly again?: boolean | undefined
}

export interface QueryOptions extends CallOptions {
  /** Rows that the query scans as `relation(name)`, by names that go before those of relations: `batchItems` rows each at most. */
  readonly tables?: TableInputs | undefined
}

const TABLES: Kind = {
  is: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  right: '{columns, rows} by the names of tables',
}

const QUERY_OPTIONS: Kinds<QueryOptions> = { tables: TABLES, ...CALL_OPTIONS }

export interface SlowOptions extends CallOptions {
  /** Number of a request that is known already, with those before it. */
  readonly after?: number | undefined
}

const SLOW_OPTIONS: Kinds<SlowOptions> = { after: NUMBER, ...CALL_OPTIONS }

const CALIBRATION_OPTIONS: Kinds<CalibrationOptions> = { again: FLAG, ...CALL_OPTIONS }

const IMPORT_OPTIONS: Kinds<ImportFileOptions> = {
  relation: TEXT,
  format: TEXT,
  separator: TEXT,
  columns: ANYTHING,
  onBadLine: CALLBACK,
  onProgress: CALLBACK,
  signal: CALL_OPTIONS.signal,
}

export interface CloseOptions {
  /** Calls that are not answered fail with `CANCELLED`. */
  readonly now?: boolean | undefined
}

export interface SplitOptions {
  /** Told of what is done: of entries that were copied, then of changes that were made meanwhile. */
  readonly onProgress?: ((progress: SplitProgress) => void) | undefined
  /** Aborting it leaves the index as it was. */
  readonly signal?: CallOptions['signal']
}

const SPLIT_OPTIONS: Kinds<SplitOptions> = { onProgress: CALLBACK, signal: CALL_OPTIONS.signal }
const CLOSE_OPTIONS: Kinds<CloseOptions> = { now: FLAG }
/** Also what `listRelations` tells beside the definition. */
const RELATION_FIELDS: Kinds<RelationInfo> = {
  name: TEXT,
  columns: ANYTHING,
  indexes: ANYTHING,
  kept: ANYTHING,
  spread: TEXT,
}

/**
 * A server's client. Any number of calls may be under way; those to one index are carried out in their order. (A read
 * whose answer turns out too large for a frame is asked for again in halves, after what was sent meanwhile; between the parts of a bulk load other
 * calls go.) After a lost connection it
 * connects again: reads are sent again, writes once more under the same write id (which the server applies once), and createIndex and
 * dropIndex fail with `CONNECTION_LOST`.
 */
export class Client {
  readonly #connection: Connection
  readonly #indexes = new Map<string, { readonly index: Index; readonly calls: IndexCalls }>()
  readonly #relations = new Map<string, Relation>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** What the server said of itself when the connection was last made. */
  get server(): ReplyFields['hello'] {
    return this.#connection.server
  }

  /** Resolves when the client is closed for good: with the error that it gave up on, also while it was being closed, or undefined. */
  get closed(): Promise<WarpdexError | undefined> {
    return this.#connection.closed
  }

  /**
   * An index by name, or by its definition, which types its keys and payloads. Nothing is sent: the first call on it says whether it
   * exists.
   */
  index<const K extends KeyType = KeyType, const P extends PayloadKind = PayloadKind>(
    of: string | IndexTypes<K, P>,
  ): Index<K, P> {
    const name = typeof of === 'string' ? of : Object(of).name
    checkName(name, 'index', 'an index')
    let known = this.#indexes.get(name)
    if (known === undefined) {
      const calls = new IndexCalls(this.#connection, name)
      known = { index: new Index(calls), calls }
      this.#indexes.set(name, known)
    }
    // K and P are only the caller's names for what the index is.
    return known.index as unknown as Index<K, P>
  }

  /**
   * Creates an index.
   *
   * @param options with `ifNotExists` an equal index that is there already is right
   * @returns the index, with keys and payloads of these types
   * @throws WarpdexError `INDEX_EXISTS`
   */
  async createIndex<const K extends KeyType, const P extends PayloadKind>(
    definition: IndexDefinition<K, P> & IndexTypes<K, P>,
    options: CreateIndexOptions<K> = {},
  ): Promise<Index<K, P>> {
    checkOptions<IndexDefinition>(definition, DEFINITION_FIELDS, 'createIndex', 'field')
    checkName(definition.name, 'createIndex', 'an index')
    checkOptions<CreateIndexOptions<K>>(options, CREATE_INDEX_OPTIONS, 'createIndex')
    const { name: index, keyType, payloadKind, unique, ttl, placement } = definition
    const { ifNotExists } = options
    // Which keys they are is the type's business.
    const splitAt = options.splitAt as AnyKeys | undefined
    const place = placement === undefined ? this.#connection.placementFor(definition, splitAt) : { placement }
    const fields = {
      index,
      keyType,
      payloadKind,
      unique,
      ttl,
      ...place,
      ...layoutOf(definition),
      ifNotExists,
    }
    await this.#request('createIndex', fields, options)
    return this.index<K, P>(definition.name)
  }

  /**
   * Drops an index with all that it holds.
   *
   * @param options with `ifExists` a missing index is right
   * @returns whether it was there
   * @throws WarpdexError `UNKNOWN_INDEX`
   */
  async dropIndex(name: string, options: DropOptions = {}): Promise<boolean> {
    checkName(name, 'dropIndex', 'an index')
    checkOptions(options, DROP_OPTIONS, 'dropIndex')
    const known = this.#indexes.get(name)
    const fields = { index: name, ifExists: options.ifExists }
    const { dropped } = await this.#request('dropIndex', fields, options)
    if (this.#indexes.get(name) === known) this.#indexes.delete(name)
    return dropped
  }

  /**
   * Gives an index a name that none has. Calls on `index(name)` go on in what has that name then, if there is one. Where an index is on several replica sets,
   * calls wait meanwhile, and what ended halfway is ended by the same call; so with `swapIndexes`.
   *
   * @throws WarpdexError `UNKNOWN_INDEX`, `INDEX_EXISTS`
   */
  async renameIndex(name: string, to: string, options: CallOptions = {}): Promise<void> {
    checkName(name, 'renameIndex', 'an index')
    checkName(to, 'renameIndex', 'an index')
    checkOptions(options, CALL_OPTIONS, 'renameIndex')
    await this.#request('renameIndex', { index: name, to }, options, {}, [name, to])
  }

  /**
   * Gives two indexes each other's names in one step, so that one that was built aside takes the place of another without a gap. Calls go on in
   * what has the name, as those on an index that was made anew do.
   *
   * @throws WarpdexError `UNKNOWN_INDEX`
   */
  async swapIndexes(one: string, other: string, options: CallOptions = {}): Promise<void> {
    checkName(one, 'swapIndexes', 'an index')
    checkName(other, 'swapIndexes', 'an index')
    checkOptions(options, CALL_OPTIONS, 'swapIndexes')
    await this.#request('swapIndexes', { index: one, with: other }, options, {}, [one, other])
  }

  /**
   * Has an index of a cluster begin the parts of its replica sets with other keys, while it is used: copies it, makes what changes meanwhile there,
   * and gives the copy its name. Calls wait for the last of it. Scans, snapshots and feeds of the index fail with `INDEX_CHANGED`, and are to begin anew.
   *
   * @param splitAt as of `createIndex`; without it each replica set gets as many entries
   * @returns how many entries it had
   * @throws WarpdexError `BAD_REQUEST` without several replica sets; `INDEX_EXISTS` while another one is under way, `POSITION_GONE`
   * where the servers' `--feed-bytes` are fewer than is written meanwhile; then the index stays as it was
   */
  async splitIndex<K extends KeyType>(
    name: string,
    splitAt?: Keys<K>,
    options: SplitOptions = {},
  ): Promise<number> {
    checkName(name, 'splitIndex', 'an index')
    checkOptions(options, SPLIT_OPTIONS, 'splitIndex')
    const { splitIndex } = await import('./cluster/split-index.js')
    // Which keys they are is the type's business.
    return splitIndex(this.#connection, name, splitAt as AnyKeys | undefined, options)
  }

  async listIndexes(options: CallOptions = {}): Promise<readonly IndexDefinition[]> {
    checkOptions(options, CALL_OPTIONS, 'listIndexes')
    return (await this.#request('listIndexes', {}, options)).indexes
  }

  /**
   * What the nodes of a cluster have that the client is connected to: of owners, all that was acknowledged.
   *
   * @throws WarpdexError `BAD_REQUEST` where the server is of no cluster
   */
  position(options: CallOptions = {}): Promise<Position> {
    return this.#position('position', options)
  }

  /**
   * Waits until reads see what was acknowledged before another client's `position()` was answered: so a client with `reads: 'any'` reads what
   * the other one has written.
   *
   * @throws WarpdexError as `position`; `DEADLINE_EXCEEDED` where that is later than the deadline
   */
  reached(at: Pick<Position, 'positions'>, options: CallOptions = {}): Promise<Position> {
    return this.#position('reached', options, Object(at).positions)
  }

  /**
   * Has the owner of a replica set, which the client is connected to, leave it to another node, once that has what the log has: writes wait
   * for a moment only. `stats` says how much it lacks.
   *
   * @param to address of that node; without it the server leaves what it owns to any
   * @returns address of the owner then, if one is known
   * @throws WarpdexError `BAD_REQUEST` where no such node can take it; `UNAUTHORISED` without the right `snapshot` on all indexes
   */
  async handOver(to?: string, options: CallOptions = {}): Promise<string | undefined> {
    if (to !== undefined) checkName(to, 'handOver', 'a node')
    checkOptions(options, CALL_OPTIONS, 'handOver')
    return (await this.#request('handOver', { to }, options)).owner
  }

  async #position(
    what: 'position' | 'reached',
    options: CallOptions,
    atLeast?: readonly number[],
  ): Promise<Position> {
    checkOptions(options, CALL_OPTIONS, what)
    const connection = this.#connection
    const bounds = connection.bounds(options)
    return connection.during(async () =>
      (await import('./position.js')).positionOf(connection, bounds, what === 'reached', atLeast),
    )
  }

  /** A relation by name. Nothing is sent: the first call on it says whether it exists. */
  relation(name: string): Relation {
    checkName(name, 'relation', 'a relation')
    const known =
      this.#relations.get(name) ?? new Relation(this.#connection, name, (index) => this.index(index))
    this.#relations.set(name, known)
    return known
  }

  /**
   * Creates a relation.
   *
   * @param options with `ifNotExists` a relation of the same columns that is there already is right
   * @throws WarpdexError `RELATION_EXISTS`
   */
  async createRelation(definition: RelationDefinition, options: CreateOptions = {}): Promise<Relation> {
    checkOptions<Partial<RelationInfo>>(definition, RELATION_FIELDS, 'createRelation', 'field')
    checkName(definition.name, 'createRelation', 'a relation')
    checkOptions(options, CREATE_OPTIONS, 'createRelation')
    const columns = parseColumns(definition.columns)
    const { name: relation, spread } = definition
    const fields = { relation, columns, spread, ifNotExists: options.ifNotExists }
    await this.#request('createRelation', fields, options)
    return this.relation(relation)
  }

  /**
   * Drops a relation with all its rows.
   *
   * @param options with `ifExists` a missing relation is right
   * @returns whether it was there
   * @throws WarpdexError `UNKNOWN_RELATION`
   */
  async dropRelation(name: string, options: DropOptions = {}): Promise<boolean> {
    checkName(name, 'dropRelation', 'a relation')
    checkOptions(options, DROP_OPTIONS, 'dropRelation')
    this.#relations.delete(name)
    const fields = { relation: name, ifExists: options.ifExists }
    return (await this.#request('dropRelation', fields, options)).dropped
  }

  async listRelations(options: CallOptions = {}): Promise<readonly RelationInfo[]> {
    checkOptions(options, CALL_OPTIONS, 'listRelations')
    return (await this.#request('listRelations', {}, options)).relations
  }

  /**
   * Appends the rows of a file of CSV with a head line, TSV, NDJSON, Parquet or Arrow to a relation, which is made where there is none, and
   * dropped again should nothing be stored. In Node only; needs the package `@duckdb/node-api`, but for Arrow `apache-arrow`.
   *
   * @returns how many rows were appended
   * @throws WarpdexError that names the line or row, and says how many rows are stored: the first ones; `BAD_REQUEST` before anything is stored where values
   * would lose digits and `columns` do not say that they may
   */
  async importFile(path: string, options: ImportFileOptions): Promise<{ readonly rows: number }> {
    checkOptions(options, IMPORT_OPTIONS, 'importFile')
    checkName(options.relation, 'importFile', 'a relation')
    const { importFile } = await import('./files/import-file.js')
    return importFile(this, path, options)
  }

  /** Figures of the server, its indexes and its relations. */
  async stats(options: CallOptions = {}): Promise<ReplyFields['stats']> {
    checkOptions(options, CALL_OPTIONS, 'stats')
    return this.#request('stats', {}, options)
  }

  /**
   * Writes batches of several indexes, and rows of relations, all or none, and only if all is as they expect: nobody ever sees a part of it. They go
   * out in one request, and each index or relation has one of them.
   *
   * @param batches such as `[orders.batch().put(1, 2), stock.batch().expect('tea', { payload: 7 }), log.batch(rows)]`
   * @returns for each batch a ResultCode for each item, or where its rows are
   * @throws WarpdexError also `CONDITION_FAILED` where a key is not as expected: the error's `item` is the number of the `expect` among all
   */
  async write<const B extends readonly (WriteBatch<never, never> | RowBatch)[]>(
    batches: B,
    options: FindOptions = {},
  ): Promise<{ readonly [I in keyof B]: B[I]['part']['index'] extends string ? Uint8Array : AppendedRows }> {
    checkOptions(options, FIND_OPTIONS, 'write')
    if (!Array.isArray(batches) || !batches.every(isBatch))
      throw badRequest('write takes a list of batches, as index.batch() and relation.batch(rows) give them')
    const parts = batches.map(({ part }) => part)
    const bounds = this.#connection.bounds(options)
    const results = await writeParts(this.#connection, parts, traversalOf(options), bounds)
    // Each is that of its batch.
    return results as unknown as {
      [I in keyof B]: B[I]['part']['index'] extends string ? Uint8Array : AppendedRows
    }
  }

  /**
   * Opens a moment of all indexes, with what was written by calls that were made before: reads that name it as `snapshot` see it, whatever is
   * written later.
   *
   * @throws WarpdexError `OVERLOADED` where too many are open
   */
  async snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    checkOptions(options, SNAPSHOT_OPTIONS, 'snapshot')
    const version = this.#connection.newVersion()
    const names = [...this.#indexes.keys()]
    for (const name of names) this.#connection.order.flush(name)
    await this.#request('openVersion', { version, seconds: options.seconds }, options, {}, names)
    return new Snapshot(this.#connection, version)
  }

  /** Has a snapshot of one index, or of all indexes and relations, written to disk, so that a restart need not replay their logs. */
  async takeSnapshot(name?: string, options: CallOptions = {}): Promise<readonly SnapshotInfo[]> {
    if (name !== undefined) checkName(name, 'takeSnapshot', 'an index')
    checkOptions(options, CALL_OPTIONS, 'takeSnapshot')
    return (await this.#request('snapshot', { index: name }, options)).snapshots
  }

  /**
   * Makes a backup of all indexes on the server's host while requests go on; `stats` says how far it is.
   *
   * @param name of the folder to make among the server's backups; by default it tells the time
   * @throws WarpdexError `BAD_REQUEST` where the server makes none, or the name is taken or does not do
   */
  async backUp(name?: string, options: CallOptions = {}): Promise<BackupInfo> {
    if (name !== undefined) checkName(name, 'backUp', 'a backup')
    checkOptions(options, CALL_OPTIONS, 'backUp')
    return this.#request('backup', { name }, options)
  }

  /**
   * The last requests of all clients that took longer than the server's threshold, in the order in which they were answered.
   *
   * @param options with `after` only those that were kept after the one of that number
   * @throws WarpdexError `UNAUTHORISED` without the right `stats` on all indexes
   */
  async slowRequests(options: SlowOptions = {}): Promise<ReplyFields['slowRequests']> {
    checkOptions(options, SLOW_OPTIONS, 'slowRequests')
    return this.#request('slowRequests', { after: options.after }, options)
  }

  /**
   * What the costs that the server plans by were measured to be on its adapter.
   *
   * @param options with `again` they are measured anew, which takes seconds
   * @throws WarpdexError `UNAUTHORISED` for `again` without the right `snapshot` on all indexes
   */
  async calibration(options: CalibrationOptions = {}): Promise<ReplyFields['calibrate']> {
    checkOptions(options, CALIBRATION_OPTIONS, 'calibration')
    return this.#request('calibrate', { again: options.again }, options)
  }

  /**
   * A query over relations. Nothing is sent before its result is read.
   *
   * @throws WarpdexError where it is read: `BAD_REQUEST` with the way to a fault in the query, `UNKNOWN_RELATION`, `TOO_LARGE`, `OVERLOADED`, and
   * `CONNECTION_LOST` where the connection is lost between two batches
   */
  query(query: Query, options: QueryOptions = {}): QueryResult {
    checkQuery(query, 'query')
    checkOptions(options, QUERY_OPTIONS, 'query')
    return this.#result(() => packQuery(query.tree), options)
  }

  /** Carries a query out, and says what each of its operators did. Its rows are dropped. */
  async explainQuery(query: Query, options: QueryOptions = {}): Promise<QueryExplanation> {
    checkQuery(query, 'explainQuery')
    checkOptions(options, QUERY_OPTIONS, 'explainQuery')
    return this.#explained(packQuery(query.tree), options)
  }

  /**
   * The rows of a SELECT, which the server plans with DuckDB. Nothing is sent before its result is read.
   *
   * @param parameters for `?` or `$1` a list, and for `$name` values by their names
   * @throws WarpdexError as `query`; `BAD_REQUEST` with the place of what is wrong in the text, or with the name of what the device does not do
   */
  sql(text: string, parameters: SqlValues = [], options: QueryOptions = {}): QueryResult {
    const question = sqlQuestion(text, parameters, 'sql')
    checkOptions(options, QUERY_OPTIONS, 'sql')
    return this.#result(() => question, options)
  }

  /** As `explainQuery`, of a SELECT, or of an EXPLAIN of one. */
  async explainSql(
    text: string,
    parameters: SqlValues = [],
    options: QueryOptions = {},
  ): Promise<QueryExplanation> {
    const question = sqlQuestion(text, parameters, 'explainSql')
    checkOptions(options, QUERY_OPTIONS, 'explainSql')
    return this.#explained(question, options)
  }

  #result(question: () => Question, { tables, ...options }: QueryOptions): QueryResult {
    const asked = () => withTables(question(), tables)
    return new QueryResult(this.#connection, asked, options, (name) => this.#relations.delete(name))
  }

  async #explained(question: Question, { tables, ...options }: QueryOptions): Promise<QueryExplanation> {
    const { fields, sections } = await withTables(question, tables)
    const { explanation } = await this.#request('query', { ...fields, explain: true }, options, sections)
    if (explanation === undefined) throw new WarpdexError('INTERNAL', 'the server did not explain the query')
    return explanation
  }

  /**
   * Closes the client. New calls, and further pages of scans and results, fail with `CANCELLED` at once; calls that were made before are
   * answered first. For a server that is gone it does not wait: without a connection there is one more attempt, and if that fails, so do
   * the calls.
   *
   * @returns resolves when the connection is closed
   */
  async close(options: CloseOptions = {}): Promise<void> {
    checkOptions(options, CLOSE_OPTIONS, 'close')
    await this.#connection.close(options.now ?? false)
  }

  /** As `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Sends a request, and one for indexes after what was called on them before.
   * @param names of these indexes
   */
  async #request<O extends keyof ReplyFields>(
    op: O,
    fields: { readonly index?: string | undefined; readonly [field: string]: unknown },
    options: CallOptions,
    sections: Sections = {},
    names: readonly string[] = fields.index === undefined ? [] : [fields.index],
  ): Promise<ReplyFields[O]> {
    const bounds = this.#connection.bounds(options)
    const turns = names
      .map((name) => this.#indexes.get(name)?.calls.turn(bounds))
      .filter((turn) => turn !== undefined)
    // One that fails while another is awaited is told to the calls that need what it waited for.
    for (const turn of turns) turn.catch(() => {})
    for (const turn of turns) {
      try {
        // One by one: whoever waits for them all together goes on later, and is overtaken by calls that were made after it.
        await turn
      } catch {
        // Told to the calls that need what they waited for.
      }
    }
    // Single calls that are being gathered leave, and all pieces of a batch; for one index the connection sees to that.
    for (const name of names) {
      const turn = name === fields.index ? undefined : this.#connection.order.turn(name)
      // Where nothing is waited for, the request leaves ahead of all calls that are made after this one.
      if (turn !== undefined) await turn
    }
    return (await this.#connection.request(op, fields, sections, bounds)).fields
  }
}

/** The replica set that addresses mean. */
function setIn(urls: readonly string[]): number | undefined {
  const set = /[?&]set=(\d+)/.exec(urls.join(' '))?.[1]
  return set === undefined ? undefined : Number(set)
}

/** A question with its tables, which few pages have any of. */
function withTables(question: Question, tables: TableInputs | undefined): Question | Promise<Question> {
  if (tables === undefined) return question
  return import('./query/query-tables.js').then(({ withTables }) => withTables(question, tables))
}

function isBatch(value: unknown): value is WriteBatch<KeyType, PayloadKind> | RowBatch {
  return value instanceof WriteBatch || value instanceof RowBatch
}
