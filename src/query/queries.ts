import type { DeviceRelation } from '../../gpu/relational/device-relation.js'
import { DeviceWork } from '../../gpu/relational/query/device-work.js'
import { queryKernelsOf } from '../../gpu/relational/query/query-kernels.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { checkQuery, relationsOf } from '../../protocol/query/check-query.js'
import type { ConstantList } from '../../protocol/query/constant-lists.js'
import type { QueryExplanation } from '../../protocol/query/explanation.js'
import { type Keep, type KeptRelation, keptColumns, keptNode } from '../../protocol/query/keep.js'
import { batchesOf, columnsOf, type QueryTable } from '../../protocol/query/query-tables.js'
import { inputsOf, type TypedNode } from '../../protocol/query/typed.js'
import type { RelationDefinition } from '../../protocol/relation.js'
import { checkChange, type FoundRows, findRows, type RowChange } from './changed-rows.js'
import { type CheckedTable, DeviceTables } from './device-tables.js'
import { execute } from './execute.js'
import { explain } from './explain.js'
import { pruneColumns } from './prune-columns.js'
import { type CursorStep, cancelled, notReadOn, QueryCursor } from './query-cursor.js'
import type { QueryHost, QueryReader } from './query-host.js'
import { QueriesFull, QueryMemory, type QueryMemoryLimits, type QueryShare } from './query-memory.js'
import { QueryRun, type RunOptions } from './query-run.js'
import { resultBatches } from './read-batches.js'
import { storeResult } from './store-result.js'
import { liftTextCasts } from './text-casts.js'

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

/** What comes with a query beside its tree. */
export interface QueryInputs {
  /** Constants of it that came as columns. */
  readonly lists?: readonly ConstantList[] | undefined
  readonly tables?: readonly QueryTable[] | undefined
}

/** A query as it came, and what is asked of it. */
interface Asked extends Pick<RunOptions, 'isTimed' | 'maySee'> {
  /** A tree as it came off the wire. */
  readonly query: unknown
  readonly reader: QueryReader
  readonly lists?: readonly ConstantList[] | undefined
  /** What came with it, by name: before relations of these names. */
  readonly tables?: ReadonlyMap<string, CheckedTable> | undefined
  /** The relation that it is on, where whoever asks holds that. */
  readonly held?: DeviceRelation | undefined
}

/** What is done with a query when there is room for it, and done anew where there turns out to be too little. */
type Task<T> = (run: QueryRun, node: TypedNode) => Promise<T>

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
  readonly #open = new Map<number, OpenCursor>()
  readonly #running = new Set<QueryCursor>()
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
   * @throws WarpdexError `BAD_REQUEST` with the way to the fault, `UNKNOWN_RELATION`, what `reader.authorise` throws, `TOO_LARGE` where it needs more memory than it may have,
   * `OVERLOADED` where others leave it too little for too long, `CANCELLED`
   */
  async start(query: unknown, reader: QueryReader, inputs?: QueryInputs): Promise<FirstRows> {
    const asked = askedOf(query, reader, inputs)
    const node = this.#check(asked)
    const number = ++this.#lastCursor
    const cursor = new QueryCursor(
      () => this.#giveUp(number),
      () => this.#memory.bytes <= this.#memory.limits.all,
    )
    const push: Task<void> = async (run, node) => {
      if (cursor.hasBegun)
        throw new WarpdexError('OUT_OF_DEVICE_MEMORY', 'the device ran out of memory within the result')
      for await (const batch of resultBatches(run, node)) await cursor.push(batch)
    }
    this.#carryOut(asked, node, cursor, push).then(
      () => cursor.end(),
      (error: unknown) => cursor.end(error),
    )
    const first = await cursor.next()
    if (!first.more) return { ...first, cursor: undefined }
    // Whoever left meanwhile will not end it.
    if (reader.cancelled) {
      cursor.cancel()
      throw cancelled()
    }
    if (this.#open.size >= LIMITS.queryCursors) {
      cursor.cancel()
      throw new WarpdexError(
        'OVERLOADED',
        `${LIMITS.queryCursors} results are being read; try again after a pause`,
      )
    }
    this.#open.set(number, { cursor, owner: reader.owner, relations: storedOf(node, asked) })
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
    inputs?: QueryInputs,
  ): Promise<KeptRelation> {
    const asked = askedOf(query, reader, inputs)
    const node = this.#check(asked)
    keptColumns(node.columns)
    const { results } = this.#host
    results.refuse(name, reader)
    return this.#carryOut(asked, node, new QueryCursor(), async (run, node) => {
      const columns = keptColumns(node.columns)
      const stored = await storeResult(run, keptNode(node), columns)
      try {
        const sources = storedOf(node, asked)
        await results.put({ name, columns }, seconds, stored, run.work.device, reader, sources)
        return { name, seconds, columns, rows: stored.rows }
      } catch (error) {
        stored.destroy()
        throw error
      }
    })
  }

  /** Carries a query out to its end, and says what its steps did; its rows are dropped. */
  async explain(query: unknown, reader: QueryReader, inputs?: QueryInputs): Promise<QueryExplanation> {
    const maySee = (index: string) => reader.maySee?.(index) ?? true
    const asked = { ...askedOf(query, reader, inputs), isTimed: true, maySee }
    return this.#carryOut(asked, this.#check(asked), new QueryCursor(), async (run, node) => {
      for await (const table of execute(run, node)) run.drop(table)
      return explain(run, node)
    })
  }

  /**
   * Finds the rows of a relation that are to be changed. Whoever asks holds the relation.
   * @param old names of columns whose old values are needed
   */
  async rowsToChange(
    definition: RelationDefinition,
    held: DeviceRelation,
    change: RowChange,
    reader: QueryReader,
    old: readonly string[],
  ): Promise<FoundRows> {
    const checked = checkChange(change, definition, old)
    const asked = { query: undefined, reader, held }
    return this.#carryOut(asked, checked.node, new QueryCursor(), (run) => findRows(run, checked))
  }

  #check({ query, reader, lists, tables }: Asked): TypedNode {
    const schemaOf = (relation: string) => {
      const table = tables?.get(relation)
      if (table !== undefined) return columnsOf(table)
      reader.authorise?.(relation)
      return this.#host.columnsOf(relation)
    }
    return pruneColumns(liftTextCasts(checkQuery(query, schemaOf, lists)))
  }

  /**
   * Runs a query on its relations, and anew when there is memory for it, where others leave it too little.
   * @param node what it was checked to be; when it is run anew it is checked again, since relations may have changed meanwhile
   * @param cursor what its rows go to, if they go anywhere, and what has it end
   */
  async #carryOut<T>(asked: Asked, node: TypedNode, cursor: QueryCursor, task: Task<T>): Promise<T> {
    const share = this.#memory.enter(cursor)
    const refuse = () => {
      cursor.refuse()
      if (asked.reader.cancelled) throw cancelled()
    }
    this.#running.add(cursor)
    try {
      for (let checked = node; ; checked = asked.held === undefined ? this.#check(asked) : node) {
        try {
          return await this.#withRun(checked, { ...asked, refuse }, share, task)
        } catch (error) {
          // Why it was to end says more than what came of that.
          cursor.refuse()
          if (!(error instanceof QueriesFull)) throw error
          await this.#memory.wait(share, error, refuse)
        }
      }
    } finally {
      this.#running.delete(cursor)
      share.leave()
    }
  }

  #withRun<T>(
    node: TypedNode,
    asked: Asked & { readonly refuse: () => void },
    share: QueryShare,
    task: Task<T>,
  ): Promise<T> {
    const { reader, isTimed, maySee, tables, held, refuse } = asked
    const withRelations = async (stored: ReadonlyMap<string, DeviceRelation>) => {
      const device = await this.#host.device()
      const kernels = await queryKernelsOf(device)
      const own = await DeviceTables.create(device, tables?.values() ?? [])
      share.tableBytes = own.bytes
      const lane = device.turns.lane({ refuse, onSlice: () => this.#slices++ })
      const scratch = device.scratch((bytes) => this.#memory.admit(share, bytes), lane)
      share.scratch = scratch
      try {
        if (own.bytes > 0) this.#memory.admit(share, 0)
        const relations = new Map([...stored, ...own.relations])
        const work = new DeviceWork(device, kernels, scratch)
        const waitingBytes = this.#memory.limits.each * WAITING_PART
        const run = new QueryRun(work, relations, { refuse, waitingBytes, isTimed, maySee })
        const result = await task(run, node)
        if (hasLargeSelection(node, relations)) this.#host.onLargeSelection?.(device)
        return result
      } finally {
        // Its relations may change from now on.
        lane.stop()
        scratch.end()
        own.destroy()
        share.tableBytes = 0
      }
    }
    const names = storedOf(node, asked)
    if (held !== undefined) return withRelations(new Map(names.map((name) => [name, held])))
    return this.#host.useRelations(names, withRelations, reader)
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
}

/** @throws WarpdexError `BAD_REQUEST`, `TOO_LARGE` for rows that its tables cannot have */
function askedOf(query: unknown, reader: QueryReader, { lists, tables = [] }: QueryInputs = {}): Asked {
  const checked = tables.map((table): [string, CheckedTable] => {
    const { definition } = table
    return [definition.name, { ...table, batches: batchesOf(table) }]
  })
  return { query, reader, lists, tables: new Map(checked) }
}

/** Names of the relations that a query reads, without the tables that came with it. */
function storedOf(node: TypedNode, { tables }: Pick<Asked, 'tables'>): readonly string[] {
  return relationsOf(node).filter((name) => tables?.has(name) !== true)
}

/** Whether rows are selected, and one of the relations has many. */
function hasLargeSelection(node: TypedNode, relations: ReadonlyMap<string, DeviceRelation>): boolean {
  const selects = (each: TypedNode): boolean => each.op === 'where' || inputsOf(each).some(selects)
  return [...relations.values()].some(({ rows }) => rows >= LIMITS.calibratedRows) && selects(node)
}
