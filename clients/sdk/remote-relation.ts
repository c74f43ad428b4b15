import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { encodeFrame, type Sections } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ControlOp } from '../../protocol/messages.js'
import { packQuery } from '../../protocol/query/pack-query.js'
import type { ColumnDefinition, RelationDefinition } from '../../protocol/relation.js'
import { type AppendedRows, batchBytes, type RelationBatch } from '../../protocol/relation-batch.js'
import { batchFromReply, sectionsOfBatch } from '../../protocol/relation-sections.js'
import {
  inputRows,
  packBatch,
  type RelationInput,
  type RelationValue,
  unpackColumn,
} from '../../protocol/relation-values.js'
import type { RelationStats, ReplyFields } from '../../protocol/replies.js'
import { shown } from '../../protocol/shown.js'
import type { TreeLayout } from '../../protocol/traversal.js'
import type { KeyType } from '../../protocol/types.js'
import { arrowInput, toArrow } from './arrow.js'
import type { RecordBatch, Table } from './arrow-types.js'
import type { AtomicPart } from './atomic-write.js'
import {
  type Bounds,
  CALL_OPTIONS,
  type CallOptions,
  checkName,
  checkOptions,
  type Kind,
  type Kinds,
  NUMBER,
  TEXTS,
  UNBOUNDED,
} from './call-options.js'
import type { Connection } from './connection.js'
import { COLUMN_BYTES } from './data-call.js'
import { type CreateOptions, layoutOf, RELATION_INDEX_OPTIONS } from './options.js'
import { expressionOf, type Operand, Value } from './query/value.js'
import { RememberedAnswer } from './remembered-answer.js'
import type { Index } from './remote-index.js'
import type { Reply } from './reply.js'

/** Values that were read, by column name. */
export type RelationRows = Readonly<Record<string, readonly RelationValue[]>>

export interface ReadOptions extends CallOptions {
  /** Names of columns; all by default. */
  readonly columns?: readonly string[] | undefined
  /** Number of the first row; 0 by default. */
  readonly from?: number | undefined
  /** Rows at most; all by default. */
  readonly limit?: number | undefined
  /** That of `stats` when `from` was known: where rows have got other numbers since, the read fails with `VERSION_GONE`. */
  readonly numbering?: number | undefined
}

/** Which rows are meant. */
export interface RowFilter {
  /** A condition over the columns. */
  readonly where: Value
}

export interface RowUpdate extends RowFilter {
  readonly set: Readonly<Record<string, Operand>>
}

const CONDITION: Kind = { is: (value) => value instanceof Value, right: "a condition, as col('id').eq(7)" }
const NEW_VALUES: Kind = {
  is: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  right: "new values by column, as { price: col('price').plus(1) }",
}

const READ_OPTIONS: Kinds<ReadOptions> = {
  columns: TEXTS,
  from: NUMBER,
  limit: NUMBER,
  numbering: NUMBER,
  ...CALL_OPTIONS,
}

/**
 * A relation of the server: rows in columns. All methods fail with a WarpdexError: with the server's codes, or `BAD_REQUEST` before
 * anything is sent, `DEADLINE_EXCEEDED`, `CANCELLED`, or `CONNECTION_LOST`.
 */
export class Relation {
  readonly name: string
  readonly #connection: Connection
  readonly #indexOf: (name: string) => Index
  readonly #definition = new RememberedAnswer<RelationDefinition>(() => this.#stats(UNBOUNDED))

  /** @param indexOf gives an index of the client by its name */
  constructor(connection: Connection, name: string, indexOf: (name: string) => Index) {
    this.name = name
    this.#connection = connection
    this.#indexOf = indexOf
  }

  /** What the relation was created as; asked for once. */
  async definition(options: CallOptions = {}): Promise<RelationDefinition> {
    checkOptions(options, CALL_OPTIONS, 'definition')
    const { name, columns, spread } = await this.#definition.get(this.#connection.bounds(options))
    return { name, columns, ...(spread && { spread }) }
  }

  /** Rows of the relation and its memory. */
  async stats(options: CallOptions = {}): Promise<RelationStats> {
    checkOptions(options, CALL_OPTIONS, 'stats')
    return this.#stats(this.#connection.bounds(options))
  }

  /**
   * Adds rows at the end. What is over the limits of a request goes out in several, one after the other, each of which is stored as a
   * whole.
   *
   * @param input one value a row for each column; nullable columns may be missing
   * @returns where the rows are
   */
  async append(input: RelationInput, options: CallOptions = {}): Promise<AppendedRows> {
    checkOptions(options, CALL_OPTIONS, 'append')
    return this.#append(() => input, options)
  }

  /**
   * Adds the rows of an Arrow table or record batch; its columns go to those of the same names.
   * @throws WarpdexError also `BAD_REQUEST` for a column that is not there, or cannot take such values
   */
  async appendArrow(source: Table | RecordBatch, options: CallOptions = {}): Promise<AppendedRows> {
    checkOptions(options, CALL_OPTIONS, 'appendArrow')
    return this.#append((definition) => arrowInput(source, definition), options)
  }

  /**
   * Deletes the rows for which a condition is true. The numbers of the others stay.
   * @returns how many there were
   */
  async deleteRows(rows: RowFilter, options: CallOptions = {}): Promise<number> {
    checkChange(rows, { where: CONDITION }, 'deleteRows')
    checkOptions(options, CALL_OPTIONS, 'deleteRows')
    return (await this.#change({ where: rows.where.expression }, options)).changed
  }

  /**
   * Gives rows for which a condition is true other values. They move to the end: each gets a new number.
   *
   * @param update `set` has new values by column, as expressions over the old ones
   * @returns where the rows are now
   * @throws WarpdexError `TOO_LARGE` for more than `batchItems` rows
   */
  async updateRows(update: RowUpdate, options: CallOptions = {}): Promise<AppendedRows> {
    checkChange(update, { where: CONDITION, set: NEW_VALUES }, 'updateRows')
    checkOptions(options, CALL_OPTIONS, 'updateRows')
    const values = Object.entries(update.set).map(([name, value]) => [name, expressionOf(value)] as const)
    const change = { where: update.where.expression, set: Object.fromEntries(values) }
    const { changed, first = 0 } = await this.#change(change, options)
    return { first, rows: changed }
  }

  /**
   * Adds rows as they travel: columns of little-endian values with their validity, strings as numbers of different ones in the order of their
   * bytes. They go out in one request, and are stored as a whole.
   * @throws WarpdexError also `TOO_LARGE`
   */
  async appendBatch(batch: RelationBatch, options: CallOptions = {}): Promise<AppendedRows> {
    checkBatch(batch)
    checkOptions(options, CALL_OPTIONS, 'appendBatch')
    const bounds = this.#connection.bounds(options)
    return this.#appendOne(batch, await this.#definition.get(bounds), bounds)
  }

  /** Rows to be added at the end by `Client.write`, together with other writes; they go out in one request. */
  batch(input: RelationInput): RowBatch {
    return new RowBatch(this.#connection, this.name, this.#definition, input)
  }

  /**
   * Creates an index over columns, with the rows that are there and those that are going to be appended. Its keys are the values of one
   * column, or tuples of those of several, and its payloads numbers of rows; rows without a value in any of the columns are not in
   * it. It goes with the relation, and takes no writes of its own.
   *
   * @param options with `ifNotExists` an equal index that is there already is right
   * @returns the index, with keys of the type that the caller says
   * @throws WarpdexError `INDEX_EXISTS`
   */
  async createIndex<K extends KeyType = KeyType>(
    name: string,
    columns: readonly string[],
    options: CreateOptions & TreeLayout = {},
  ): Promise<Index<K, 'u32'>> {
    checkName(name, 'createIndex', 'an index')
    checkOptions(options, RELATION_INDEX_OPTIONS, 'createIndex')
    if (!TEXTS.is(columns)) {
      throw badRequest(`createIndex takes ${TEXTS.right}, the columns, not ${shown(columns)}`)
    }
    const fields = { index: name, columns, ifNotExists: options.ifNotExists, ...layoutOf(options) }
    const bounds = this.#connection.bounds(options)
    await this.#request('createRelationIndex', fields, bounds)
    // Its payloads are numbers of rows; K is only the caller's name for what its keys are.
    return this.#indexOf(name) as unknown as Index<K, 'u32'>
  }

  /** Values of rows in the order in which they were appended, by column. */
  async read(options: ReadOptions = {}): Promise<RelationRows> {
    checkOptions(options, READ_OPTIONS, 'read')
    const read = new Map<string, RelationValue[]>()
    for await (const page of this.#pages(options, true, valuesOf)) {
      for (const [name, values] of Object.entries(page)) read.set(name, (read.get(name) ?? []).concat(values))
    }
    return Object.fromEntries(read)
  }

  /** As `read`, in pages of as many rows as a reply holds; there is one at least. */
  pages(options: ReadOptions = {}): AsyncGenerator<RelationRows> {
    checkOptions(options, READ_OPTIONS, 'pages')
    return this.#pages(options, false, valuesOf)
  }

  /** As `pages`, as Arrow record batches, in which strings are dictionaries. Needs the package `apache-arrow`. */
  arrowBatches(options: ReadOptions = {}): AsyncGenerator<RecordBatch> {
    checkOptions(options, READ_OPTIONS, 'arrowBatches')
    return this.#pages(options, false, ({ columns, batch }) => toArrow(columns, batch))
  }

  /**
   * @param isOneCall whether the pages after the first belong to a call that is under way
   * @param read makes of a page what is given
   */
  async *#pages<T>(
    options: ReadOptions,
    isOneCall: boolean,
    read: (page: Page) => T | Promise<T>,
  ): AsyncGenerator<T> {
    const { columns: names, limit = Number.POSITIVE_INFINITY } = options
    let { from = 0, numbering } = options
    let own = this.#connection.bounds(options)
    for (let left = limit; ; own = this.#connection.bounds(options, isOneCall)) {
      const fields = { columns: names, from, limit: Math.min(left, LIMITS.batchItems), numbering }
      const reply = await this.#request('readRelation', fields, own)
      const { rows, total, columns, next = from + rows } = reply.fields
      // The pages after this one are of the same numbers.
      numbering = reply.fields.numbering
      const order = columns.map(({ name }) => name)
      yield read({ columns, batch: batchFromReply(order, rows, reply.sections) })
      from = next
      left -= rows
      if (rows === 0 || left === 0 || from >= total) return
    }
  }

  async #append(
    inputFor: (definition: RelationDefinition) => RelationInput,
    options: CallOptions,
  ): Promise<AppendedRows> {
    const bounds = this.#connection.bounds(options)
    const definition = await this.#definition.get(bounds)
    let first: number | undefined
    let rows = 0
    for (const batch of batches(inputFor(definition), definition)) {
      const appended = await this.#appendOne(batch, definition, bounds)
      first ??= appended.first
      rows += appended.rows
    }
    return { first: first ?? 0, rows }
  }

  async #change(change: object, options: CallOptions): Promise<ReplyFields['changeRows']> {
    const { fields, sections } = packQuery(change)
    const { query, lists } = fields
    const request = { ...(query as object), lists, writeId: this.#connection.newWriteId() }
    return (await this.#request('changeRows', request, this.#connection.bounds(options), sections)).fields
  }

  async #appendOne(batch: RelationBatch, { columns: all }: RelationDefinition, bounds: Bounds) {
    const columns = [...batch.columns.keys()]
    const fields = { rows: batch.rows, columns, writeId: this.#connection.newWriteId() }
    return (await this.#request('append', fields, bounds, sectionsOfBatch(batch, all))).fields
  }

  async #stats(bounds: Bounds): Promise<RelationStats> {
    return (await this.#request('stats', {}, bounds)).fields.relations[0]
  }

  async #request<O extends ControlOp>(
    op: O,
    fields: object,
    bounds: Bounds,
    sections: Sections = {},
  ): Promise<Reply<O>> {
    try {
      return await this.#connection.request(op, { relation: this.name, ...fields }, sections, bounds)
    } catch (error) {
      // The relation may have been dropped, and made anew with other columns.
      if (error instanceof WarpdexError && DEFINITION_ERRORS.includes(error.code)) this.#definition.forget()
      throw error
    }
  }
}

/** @throws WarpdexError `BAD_REQUEST` for what is no batch */
function checkBatch(batch: RelationBatch): void {
  const { rows, columns } = Object(batch) as Partial<RelationBatch>
  const isBatch =
    Number.isSafeInteger(rows) &&
    columns instanceof Map &&
    Array.from(columns.values()).every((column) => Object(column).values instanceof Uint8Array)
  if (!isBatch) throw badRequest(`appendBatch takes a batch {rows, columns}, not ${shown(batch)}`)
}

interface Page {
  readonly columns: readonly ColumnDefinition[]
  readonly batch: RelationBatch
}

function valuesOf({ columns, batch }: Page): RelationRows {
  const values = columns.map(({ name, type }) => {
    return [name, unpackColumn(batch.columns.get(name) ?? NO_VALUES, type)] as const
  })
  return Object.fromEntries(values)
}

/** @throws WarpdexError `BAD_REQUEST`, also for what is missing: without a condition all rows would be meant */
function checkChange<T extends object>(change: T, kinds: Kinds<T>, what: string): void {
  checkOptions(change, kinds, what, 'field')
  for (const name in kinds) {
    if (change[name] === undefined) throw badRequest(`${what} needs "${name}", ${kinds[name].right}`)
  }
}

const NO_VALUES = { values: new Uint8Array(0) }

/** Rows for one relation. */
export class RowBatch {
  /** For those who write it. */
  readonly part: AtomicPart & { readonly index: undefined }

  constructor(
    connection: Connection,
    relation: string,
    definition: RememberedAnswer<RelationDefinition>,
    input: RelationInput,
  ) {
    let known: RelationDefinition | undefined
    this.part = {
      connection,
      index: undefined,
      items: 0,
      learn: async (bounds) => {
        known = await definition.get(bounds)
      },
      encode: async (_, bounds) => {
        const { connections, spread } = await connection.placeRows(relation, bounds)
        const frames = known === undefined ? [] : [appendFrame(relation, input, { ...known, spread })]
        return connections.map((connection) => ({ connection, frames }))
      },
      learnAgain: async ({ code }) => {
        if (DEFINITION_ERRORS.includes(code)) definition.forget()
        return false
      },
    }
  }
}

/** A request to append rows, which is a part of another. */
export function appendFrame(
  relation: string,
  input: RelationInput,
  definition: RelationDefinition,
): Uint8Array {
  const rows = inputRows(input, definition)
  const batch = packBatch(input, definition)
  const { spread, columns } = definition
  const fields = { id: 0, op: 'append', relation, rows, spread, columns: [...batch.columns.keys()] }
  return encodeFrame(fields, sectionsOfBatch(batch, columns))
}

const DEFINITION_ERRORS: readonly string[] = ['UNKNOWN_RELATION', 'BAD_REQUEST']

/** The rows in order, in batches that fit in a request. */
function* batches(input: RelationInput, definition: RelationDefinition): Generator<RelationBatch> {
  const rows = inputRows(input, definition)
  for (let start = 0; start < rows || start === 0; ) {
    let size = Math.min(rows - start, LIMITS.batchItems)
    let batch = packBatch(sliceOf(input, start, start + size), definition)
    while (batchBytes(batch) > COLUMN_BYTES && size > 1) {
      size = Math.ceil(size / 2)
      batch = packBatch(sliceOf(input, start, start + size), definition)
    }
    yield batch
    if (rows === 0) return
    start += size
  }
}

function sliceOf(input: RelationInput, start: number, end: number): RelationInput {
  const columns = Object.entries(input)
  if (start === 0 && columns.every(([, values]) => values.length <= end)) return input
  return Object.fromEntries(
    columns.map(([name, values]) => [
      name,
      ArrayBuffer.isView(values) ? values.subarray(start, end) : values.slice(start, end),
    ]),
  )
}
