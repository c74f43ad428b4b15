import type { Device } from '../../gpu/device/device.js'
import type { DeviceRelation } from '../../gpu/relational/device-relation.js'
import { DeviceWork } from '../../gpu/relational/query/device-work.js'
import { QueryKernels } from '../../gpu/relational/query/query-kernels.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { checkQuery, relationsOf } from '../../protocol/query/check-query.js'
import type { ConstantList } from '../../protocol/query/constant-lists.js'
import type { QueryExplanation } from '../../protocol/query/explanation.js'
import { type Keep, type KeptRelation, keptColumns } from '../../protocol/query/keep.js'
import { inputsOf, type TypedNode } from '../../protocol/query/typed.js'
import { execute } from './execute.js'
import { explain } from './explain.js'
import { pruneColumns } from './prune-columns.js'
import { type CursorStep, notReadOn, QueryCursor } from './query-cursor.js'
import type { QueryHost, QueryReader } from './query-host.js'
import {
  QueriesFull,
  QueryMemory,
  type QueryMemoryLimits,
  type QueryResultState,
  type QueryShare,
} from './query-memory.js'
import { QueryRun, type RunOptions, refuseCancelled } from './query-run.js'
import { batchRows, emptyBatch, readBatch } from './read-batches.js'
import { storeResult } from './store-result.js'

/** What queries of one engine have done and hold. */
export interface QueryFigures {
  /** Queries whose result is not yet made. */
  readonly running: number
  /** Those of them that wait for memory which others have. */
  readonly waiting: number
  /** Bytes that queries have beside their relations, results that wait to be read included. */
  readonly bytes: number
  /** Slices of their work that went to the device so far, of all queries. */
  readonly slices: number
}

/** The first rows of a result; `cursor` is how to get the rest, where there is one. */
export interface FirstRows extends CursorStep {
  readonly cursor: number | undefined
}

/** A query as it came. */
interface Asked {
  /** A tree as it came off the wire. */
  readonly query: unknown
  readonly reader: QueryReader
  readonly lists: readonly ConstantList[] | undefined
}

interface OpenCursor {
  readonly cursor: QueryCursor
  readonly owner: unknown
  /** Names of what it reads. */
  readonly relations: readonly string[]
}

/** Numbers of results that were given up which are remembered: as many as may be read at a time, a few times over. */
const GIVEN_UP_KEPT = 4 * LIMITS.queryCursors

/** Of the memory that a query may take, what may wait to be given back. */
const WAITING_PART = 1 / 64

/** Queries of one engine: each checked, carried out, and read a batch at a time. */
export class Queries {
  readonly #host: QueryHost
  readonly #memory: QueryMemory
  readonly #kernels = new WeakMap<Device, Promise<QueryKernels>>()
  readonly #open = new Map<number, OpenCursor>()
  readonly #running = new Set<{ cancel(reason: WarpdexError): void }>()
  /** Results that were given up, the oldest first, for whoever comes back for one. */
  readonly #givenUp = new Set<number>()
  #lastCursor = 0
  #slices = 0

  /** @param limits of the memory that queries may take beside their relations */
  constructor(host: QueryHost, limits: QueryMemoryLimits) {
    this.#host = host
    this.#memory = new QueryMemory(limits)
  }

  /** What queries have done and hold. */
  get figures(): QueryFigures {
    const { waiting, bytes } = this.#memory
    return { running: this.#running.size, waiting, bytes, slices: this.#slices }
  }

  /**
   * Begins a query.
   * @param query a tree as it came off the wire
   * @param lists constants of it that came as columns
   * @throws WarpdexError `BAD_REQUEST` with the way to the fault, `UNKNOWN_RELATION`, what `reader.authorise` throws, `TOO_LARGE` where it needs more memory than it may have,
   * `OVERLOADED` where others leave it too little for too long, `CANCELLED`
   */
  async start(query: unknown, reader: QueryReader, lists?: readonly ConstantList[]): Promise<FirstRows> {
    const asked = { query, reader, lists }
    const node = this.#check(asked)
    const number = ++this.#lastCursor
    const cursor = new QueryCursor(
      () => this.#giveUp(number),
      () => this.#memory.bytes <= this.#memory.limits.all,
    )
    this.#running.add(cursor)
    this.#run(asked, node, cursor)
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
    const asked = { query, reader, lists }
    const first = this.#check(asked)
    keptColumns(first.columns)
    const { results } = this.#host
    results.refuse(name, reader)
    return this.#throughout(asked, first, {}, async (run, node) => {
      const columns = keptColumns(node.columns)
      const stored = await storeResult(run, node, columns)
      try {
        await results.put({ name, columns }, seconds, stored, run.work.device, reader)
        return { name, seconds, columns, rows: stored.rows }
      } catch (error) {
        stored.destroy()
        throw error
      }
    })
  }

  /** Carries a query out to its end, and says what its steps did; its rows are dropped. */
  async explain(
    query: unknown,
    reader: QueryReader,
    lists?: readonly ConstantList[],
  ): Promise<QueryExplanation> {
    const asked = { query, reader, lists }
    const first = this.#check(asked)
    const maySee = (index: string) => reader.maySee?.(index) ?? true
    return this.#throughout(asked, first, { isTimed: true, maySee }, async (run, node) => {
      for await (const table of execute(run, node)) run.drop(table)
      return explain(run, node)
    })
  }

  /** Carries a query out within one call, which ends once all queries are to end. */
  async #throughout<T>(
    asked: Asked,
    node: TypedNode,
    options: RunOptions,
    use: (run: QueryRun, node: TypedNode) => Promise<T>,
  ): Promise<T> {
    let closed: WarpdexError | undefined
    const running = {
      cancel: (reason: WarpdexError) => {
        closed = reason
      },
    }
    this.#running.add(running)
    try {
      const isCancelled = () => closed !== undefined || asked.reader.cancelled
      return await this.#carryOut(asked, node, { ...options, isCancelled }, use)
    } catch (error) {
      throw closed ?? error
    } finally {
      this.#running.delete(running)
    }
  }

  #check({ query, reader, lists }: Asked): TypedNode {
    const schemaOf = (relation: string) => {
      reader.authorise?.(relation)
      return this.#host.columnsOf(relation)
    }
    const node = checkQuery(query, schemaOf, lists)
    return pruneColumns(node)
  }

  async #run(asked: Asked, checked: TypedNode, cursor: QueryCursor): Promise<void> {
    let pushed = 0
    const isCancelled = () => cursor.cancelled || asked.reader.cancelled
    const result = { bytes: () => cursor.bytes, hasBegun: () => pushed > 0 }
    await this.#carryOut(
      asked,
      checked,
      { isCancelled },
      async (run, node) => {
        if (pushed > 0)
          throw new WarpdexError('OUT_OF_DEVICE_MEMORY', 'the device ran out of memory within the result')
        const most = batchRows(node.columns)
        let wanted = most
        for await (const table of execute(run, node)) {
          for (let first = 0; first < table.rows; ) {
            run.refuseCancelled()
            const rows = Math.min(wanted, table.rows - first)
            const batch = await run.read(node, () => readBatch(run.work, table, node.columns, first, rows))
            first += batch.rows
            // After a short batch, of long strings, no more is read than twice its rows.
            wanted = Math.min(most, 2 * (batch.rows < rows ? batch.rows : wanted))
            pushed++
            await cursor.push(batch)
          }
          run.drop(table)
        }
        if (pushed === 0) await cursor.push(emptyBatch(node.columns))
      },
      result,
    )
  }

  /**
   * Runs a query on its relations, and anew when there is memory for it, where others leave it too little.
   * @param node what it was checked to be; when it is run anew it is checked again, since relations may have changed meanwhile
   */
  async #carryOut<T>(
    asked: Asked,
    node: TypedNode,
    options: RunOptions,
    use: (run: QueryRun, node: TypedNode) => Promise<T>,
    result?: QueryResultState,
  ): Promise<T> {
    const share = this.#memory.enter(result)
    try {
      for (let checked = node; ; checked = this.#check(asked)) {
        try {
          return await this.#withRun(checked, options, asked.reader, share, use)
        } catch (error) {
          if (!(error instanceof QueriesFull)) throw error
          await share.wait(error, () => refuseCancelled(options))
        }
      }
    } finally {
      share.leave()
    }
  }

  #withRun<T>(
    node: TypedNode,
    options: RunOptions,
    reader: QueryReader,
    share: QueryShare,
    use: (run: QueryRun, node: TypedNode) => Promise<T>,
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
        const scratch = device.scratch((bytes) => share.admit(bytes), lane)
        share.holds(scratch)
        try {
          const work = new DeviceWork(device, kernels, scratch)
          const waitingBytes = this.#memory.limits.each * WAITING_PART
          const result = await use(new QueryRun(work, relations, { ...options, waitingBytes }), node)
          if (hasLargeSelection(node, relations)) this.#host.onLargeSelection?.(device)
          return result
        } finally {
          // Its relations may change from now on.
          lane.stop()
          scratch.end()
        }
      },
      reader,
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
