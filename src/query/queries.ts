import type { Device } from '../../gpu/device/device.js'
import type { DeviceRelation } from '../../gpu/relational/device-relation.js'
import { DeviceWork } from '../../gpu/relational/query/device-work.js'
import { QueryKernels } from '../../gpu/relational/query/query-kernels.js'
import type { StoredRelation } from '../../gpu/relational/stored/stored-relation.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { checkQuery, relationsOf } from '../../protocol/query/check-query.js'
import type { ConstantList } from '../../protocol/query/constant-lists.js'
import type { QueryExplanation } from '../../protocol/query/explanation.js'
import { type Keep, type KeptRelation, keptColumns } from '../../protocol/query/keep.js'
import type { ResultColumn } from '../../protocol/query/tree.js'
import { inputsOf, type TypedNode } from '../../protocol/query/typed.js'
import type { RelationDefinition } from '../../protocol/relation.js'
import { execute } from './execute.js'
import { explain } from './explain.js'
import { pruneColumns } from './prune-columns.js'
import { type CursorStep, notReadOn, QueryCursor } from './query-cursor.js'
import { QueryRun, type RunOptions, refuseCancelled } from './query-run.js'
import { batchRows, readBatch } from './read-batches.js'
import { storeResult } from './store-result.js'

/** Who reads a result, and whether it still wants to. */
export interface QueryReader {
  readonly cancelled: boolean
  /** Nobody else may go on with what it began. */
  readonly owner?: unknown
  /** Refuses, by throwing, a relation that it may not read; asked before anything is told of the relation. */
  authorise?(relation: string): void
  /** Whether it may be told of an index; of all of them if this is absent. */
  maySee?(index: string): boolean
  /** Refuses, by throwing, a kept result that it may not replace. */
  authoriseReplace?(name: string): void
}

/** Where results are kept. */
export interface ResultStore {
  /**
   * Refuses a name that no result may be kept under at the moment.
   * @throws WarpdexError `RELATION_EXISTS`, `TOO_LARGE`, `SHUTTING_DOWN`, what `reader.authoriseReplace` throws
   */
  refuse(name: string, reader: QueryReader): void
  /**
   * Takes a result over, in place of a former one of its name.
   * @param device that it lies on
   * @throws WarpdexError as `refuse`, and `DEVICE_LOST`; then the result is the caller's still
   */
  put(
    definition: RelationDefinition,
    seconds: number,
    result: StoredRelation,
    device: Device,
    reader: QueryReader,
  ): Promise<void>
}

/** What queries need of their engine. */
export interface QueryHost {
  /** @throws WarpdexError `UNKNOWN_RELATION` */
  columnsOf(relation: string): readonly ResultColumn[]
  /** Runs a task on relations that stay as they are, and on the device, meanwhile. It may run the task twice. */
  useRelations<T>(
    names: readonly string[],
    run: (relations: ReadonlyMap<string, DeviceRelation>) => Promise<T>,
    reader?: QueryReader,
  ): Promise<T>
  device(): Promise<Device>
  /** Told of a device on which a selection has run that is large enough for the costs of its plans to matter. */
  onLargeSelection?(device: Device): void
  readonly results: ResultStore
}

/** What queries of one engine have done and hold. */
export interface QueryFigures {
  /** Queries whose result is not yet made. */
  readonly running: number
  /** Slices of their work that went to the device so far, of all queries. */
  readonly slices: number
}

/** The first rows of a result; `cursor` is how to get the rest, where there is one. */
export interface FirstRows extends CursorStep {
  readonly cursor: number | undefined
}

interface OpenCursor {
  readonly cursor: QueryCursor
  readonly owner: unknown
  /** Names of what it reads. */
  readonly relations: readonly string[]
}

/** Numbers of results that were given up which are remembered: as many as may be read at a time, a few times over. */
const GIVEN_UP_KEPT = 4 * LIMITS.queryCursors

/** Queries of one engine: each checked, carried out, and read a batch at a time. */
export class Queries {
  readonly #host: QueryHost
  readonly #memoryBytes: number
  readonly #kernels = new WeakMap<Device, Promise<QueryKernels>>()
  readonly #open = new Map<number, OpenCursor>()
  readonly #running = new Set<{ cancel(reason: WarpdexError): void }>()
  /** Results that were given up, the oldest first, for whoever comes back for one. */
  readonly #givenUp = new Set<number>()
  #lastCursor = 0
  #slices = 0

  /** @param memoryBytes of device memory that one query may take beside its relations */
  constructor(host: QueryHost, memoryBytes: number = LIMITS.queryDeviceBytes) {
    this.#host = host
    this.#memoryBytes = memoryBytes
  }

  /** What queries have done and hold. */
  get figures(): QueryFigures {
    return { running: this.#running.size, slices: this.#slices }
  }

  /**
   * Begins a query.
   * @param query a tree as it came off the wire
   * @param lists constants of it that came as columns
   * @throws WarpdexError `BAD_REQUEST` with the way to the fault, `UNKNOWN_RELATION`, what `reader.authorise` throws, `TOO_LARGE` where it needs more memory than it may have,
   * `OVERLOADED`, `CANCELLED`
   */
  async start(query: unknown, reader: QueryReader, lists?: readonly ConstantList[]): Promise<FirstRows> {
    const node = this.#check(query, reader, lists)
    const number = ++this.#lastCursor
    const cursor = new QueryCursor(() => this.#giveUp(number))
    this.#running.add(cursor)
    this.#run(node, cursor, reader)
      .then(
        () => cursor.end(),
        (error: unknown) => cursor.end(error),
      )
      .finally(() => this.#running.delete(cursor))
    const first = await cursor.next()
    if (!first.more) return { ...first, cursor: undefined }
    // Whoever left meanwhile will not end it.
    if (reader.cancelled) {
      cursor.cancel()
      throw new WarpdexError('CANCELLED', 'the query was cancelled')
    }
    if (this.#open.size >= LIMITS.queryCursors) {
      cursor.cancel()
      throw new WarpdexError(
        'OVERLOADED',
        `${LIMITS.queryCursors} results are being read; try again after a pause`,
      )
    }
    this.#open.set(number, { cursor, owner: reader.owner, relations: relationsOf(node) })
    return { ...first, cursor: number }
  }

  /**
   * More rows of a result.
   * @throws WarpdexError `BAD_REQUEST` for a cursor that is not open, or another's; what the query failed with, or `reader.authorise`
   * throws: rights may have changed
   */
  async next(number: number, reader: QueryReader): Promise<CursorStep> {
    const { cursor, relations } = this.#opened(number, reader)
    try {
      for (const relation of relations) reader.authorise?.(relation)
      const step = await cursor.next()
      if (!step.more) this.#open.delete(number)
      return step
    } catch (error) {
      cursor.cancel()
      this.#open.delete(number)
      throw error
    }
  }

  /** Ends a result before it is read. */
  end(number: number, reader: QueryReader): void {
    this.#opened(number, reader).cursor.cancel()
    this.#open.delete(number)
  }

  /** Ends all results of a reader who is gone. */
  endAll(owner: unknown): void {
    for (const [number, open] of this.#open) {
      if (open.owner !== owner) continue
      open.cursor.cancel()
      this.#open.delete(number)
    }
  }

  #giveUp(number: number): void {
    this.#open.delete(number)
    this.#givenUp.add(number)
    const [oldest] = this.#givenUp
    if (oldest !== undefined && this.#givenUp.size > GIVEN_UP_KEPT) this.#givenUp.delete(oldest)
  }

  /** Ends all queries that hold relations still. */
  close(): void {
    const message = 'the server is shutting down, and has ended the query; ask again when it is back'
    for (const cursor of this.#running) cursor.cancel(new WarpdexError('SHUTTING_DOWN', message))
  }

  /**
   * Carries a query out to its end, and keeps its rows on the device as a relation.
   * @throws WarpdexError as `start`; `RELATION_EXISTS` where a stored relation has the name; `OUT_OF_DEVICE_MEMORY`; `BAD_REQUEST` for
   * columns that no relation can have
   */
  async keep(
    query: unknown,
    { name, seconds }: Keep,
    reader: QueryReader,
    lists?: readonly ConstantList[],
  ): Promise<KeptRelation> {
    const node = this.#check(query, reader, lists)
    const columns = keptColumns(node.columns)
    const { results } = this.#host
    results.refuse(name, reader)
    return this.#untilClosed(reader, (isCancelled) =>
      this.#withRun(node, { isCancelled }, reader, async (run) => {
        const stored = await storeResult(run, node, columns)
        try {
          await results.put({ name, columns }, seconds, stored, run.work.device, reader)
          return { name, seconds, columns, rows: stored.rows }
        } catch (error) {
          stored.destroy()
          throw error
        }
      }),
    )
  }

  /** Carries a query out to its end, and says what its steps did; its rows are dropped. */
  async explain(
    query: unknown,
    reader: QueryReader,
    lists?: readonly ConstantList[],
  ): Promise<QueryExplanation> {
    const node = this.#check(query, reader, lists)
    const maySee = (index: string) => reader.maySee?.(index) ?? true
    return this.#untilClosed(reader, (isCancelled) =>
      this.#withRun(node, { isCancelled, isTimed: true, maySee }, reader, async (run) => {
        for await (const table of execute(run, node, 'whole')) run.drop(table)
        return explain(run, node)
      }),
    )
  }

  /** Runs what ends once all queries are to end. */
  async #untilClosed<T>(reader: QueryReader, task: (isCancelled: () => boolean) => Promise<T>): Promise<T> {
    let closed: WarpdexError | undefined
    const running = {
      cancel: (reason: WarpdexError) => {
        closed = reason
      },
    }
    this.#running.add(running)
    try {
      return await task(() => closed !== undefined || reader.cancelled)
    } catch (error) {
      throw closed ?? error
    } finally {
      this.#running.delete(running)
    }
  }

  #check(query: unknown, reader: QueryReader, lists?: readonly ConstantList[]): TypedNode {
    const schemaOf = (relation: string) => {
      reader.authorise?.(relation)
      return this.#host.columnsOf(relation)
    }
    const node = checkQuery(query, schemaOf, lists)
    return pruneColumns(node)
  }

  async #run(node: TypedNode, cursor: QueryCursor, reader: QueryReader): Promise<void> {
    let pushed = 0
    const isCancelled = () => cursor.cancelled || reader.cancelled
    await this.#withRun(node, { isCancelled }, reader, async (run) => {
      if (pushed > 0)
        throw new WarpdexError('OUT_OF_DEVICE_MEMORY', 'the device ran out of memory within the result')
      const most = batchRows(node.columns)
      let asked = most
      for await (const table of execute(run, node, 'whole')) {
        for (let first = 0; first < table.rows; ) {
          run.refuseCancelled()
          const rows = Math.min(asked, table.rows - first)
          const batch = await run.measure(node, () => readBatch(run.work, table, node.columns, first, rows))
          first += batch.rows
          // After a short batch, of long strings, no more is read than twice its rows.
          asked = Math.min(most, 2 * (batch.rows < rows ? batch.rows : asked))
          pushed++
          await cursor.push(batch)
        }
        run.drop(table)
      }
      if (pushed === 0) await cursor.push(emptyBatch(node.columns))
    })
  }

  #withRun<T>(
    node: TypedNode,
    options: RunOptions,
    reader: QueryReader,
    use: (run: QueryRun) => Promise<T>,
  ): Promise<T> {
    const names = relationsOf(node)
    return this.#host.useRelations(
      names,
      async (relations) => {
        const device = await this.#host.device()
        const kernels = await this.#kernelsOf(device)
        const lane = device.turns.lane({
          refuse: () => refuseCancelled(options),
          onSlice: () => this.#slices++,
        })
        const scratch = device.scratch((bytes) => this.#admit(bytes), lane)
        try {
          const work = new DeviceWork(device, kernels, scratch)
          const result = await use(new QueryRun(work, relations, options))
          if (hasLargeSelection(node, relations)) this.#host.onLargeSelection?.(device)
          return result
        } finally {
          // Its relations may change from now on.
          lane.stop()
          scratch.release()
        }
      },
      reader,
    )
  }

  #admit(bytes: number): void {
    if (bytes <= this.#memoryBytes) return
    throw new WarpdexError(
      'TOO_LARGE',
      `the query needs more than the ${this.#memoryBytes} bytes of device memory that it may have; conditions before its joins, groups and orders, or a limit on its inputs, make it smaller`,
    )
  }

  #opened(number: number, { owner }: QueryReader): OpenCursor {
    const open = this.#open.get(number)
    if (open?.owner === owner && open !== undefined) return open
    if (this.#givenUp.has(number)) throw notReadOn()
    throw new WarpdexError(
      'BAD_REQUEST',
      `no result ${number} is open; it was read to its end, ended, or never begun`,
    )
  }

  #kernelsOf(device: Device): Promise<QueryKernels> {
    const known = this.#kernels.get(device)
    if (known !== undefined) return known
    const making = QueryKernels.create(device)
    this.#kernels.set(device, making)
    making.catch(() => this.#kernels.delete(device))
    return making
  }
}

/** Whether rows are selected, and one of the relations has many. */
function hasLargeSelection(node: TypedNode, relations: ReadonlyMap<string, DeviceRelation>): boolean {
  const selects = (each: TypedNode): boolean => each.op === 'where' || inputsOf(each).some(selects)
  return [...relations.values()].some(({ rows }) => rows >= LIMITS.calibratedRows) && selects(node)
}

function emptyBatch(columns: readonly ResultColumn[]) {
  const empty = columns.map((column) => ({
    ...column,
    values: new Uint8Array(0),
    validity: undefined,
    texts: column.type === 'string' ? [] : undefined,
  }))
  return { rows: 0, columns: empty }
}
