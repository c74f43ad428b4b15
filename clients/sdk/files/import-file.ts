import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { AbortSignalLike } from '../../../protocol/abort-signal.js'
import { badRequest, type ErrorCode, toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import { isName } from '../../../protocol/names.js'
import type { ColumnDefinition, RelationInfo } from '../../../protocol/relation.js'
import type { AppendedRows } from '../../../protocol/relation-batch.js'
import { arrowDefinition, loadArrow } from '../arrow.js'
import type { Client } from '../client.js'
import type { Relation } from '../remote-relation.js'
import { FILE_FORMATS, type FileFormat, formatOf, isCsv } from './file-formats.js'
import { FileReader, type TableFormat } from './file-reader.js'

/** How far an import is. */
export interface ImportProgress {
  /** Rows that are stored. */
  readonly rows: number
  /** Bytes of the file that were read, about, and in all. */
  readonly bytes: number
  readonly size: number
}

export interface ImportFileOptions {
  /** Relation that gets the rows; it is made where there is none. */
  readonly relation: string
  /** By default it is told by the end of the file's name. */
  readonly format?: FileFormat | undefined
  /** What stands between the columns of CSV; a comma by default, in TSV a tab. */
  readonly separator?: string | undefined
  /** Columns whose types are not to be inferred, or that lose digits which the file has. */
  readonly columns?: readonly ColumnDefinition[] | undefined
  /** Called with each line of CSV that cannot be read, to skip it; by default the first one ends the import. */
  readonly onBadLine?: ((problem: WarpdexError) => void) | undefined
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined
  /** Aborting it ends the import with `CANCELLED`, once the append that is under way is stored. */
  readonly signal?: AbortSignalLike | undefined
}

/** As `Client.importFile`. */
export async function importFile(
  client: Client,
  path: string,
  options: ImportFileOptions,
): Promise<{ readonly rows: number }> {
  const format = options.format ?? formatOf(path)
  if (!FILE_FORMATS.includes(format)) {
    throw badRequest(`there is no format ${JSON.stringify(format)}; it is one of ${FILE_FORMATS.join(', ')}`)
  }
  if (options.separator !== undefined && !isCsv(format)) {
    throw badRequest(`${format} has no separator, only CSV has`)
  }
  const load = new Load(client, path, options)
  try {
    await (format === 'arrow' ? load.arrow() : load.table(format))
    return { rows: load.rows }
  } catch (thrown) {
    const { code, message } = toWarpdexError(thrown)
    await load.settled().catch(() => {})
    await load.dropIfEmpty().catch(() => {})
    throw new WarpdexError(code, `${message}${storedText(load.rows, code)}`, { cause: thrown })
  }
}

function storedText(rows: number, code: ErrorCode): string {
  if (rows > 0) return `; the first ${rows} rows are stored`
  // What a lost connection does not acknowledge may be stored.
  return code === 'CONNECTION_LOST' ? '' : '; no row is stored'
}

/** CSV with another separator has a single column, of all names. */
function refuseUnseparated([only, ...others]: readonly { readonly name: string }[]): void {
  const likely = /[;|\t,]/.exec(only.name)?.[0]
  if (others.length > 0 || likely === undefined) return
  throw badRequest(
    `the file has one column, ${JSON.stringify(only.name)}; name its separator, such as ${JSON.stringify(likely)}`,
  )
}

class Load {
  readonly #client: Client
  readonly #path: string
  readonly #options: ImportFileOptions
  #size = 0
  /** The append that is under way. */
  #pending: Promise<void> | undefined
  /** Whether this import made the relation. */
  #made = false
  /** Rows that are stored. */
  rows = 0

  constructor(client: Client, path: string, options: ImportFileOptions) {
    this.#client = client
    this.#path = path
    this.#options = options
  }

  async table(format: TableFormat): Promise<void> {
    const { onBadLine, separator, signal } = this.#options
    if (onBadLine !== undefined && !isCsv(format)) {
      throw badRequest(`bad lines of ${format} are not skipped, only those of CSV`)
    }
    // What cannot be looked at, DuckDB says why.
    const facts = await stat(this.#path).catch(() => undefined)
    if (facts?.size === 0) throw badRequest(`${this.#path} is empty`)
    this.#size = facts?.size ?? 0
    // Where bad lines are passed over, each has to be found where it is read, as what the file has.
    const given = onBadLine === undefined ? await this.#givenColumns() : []
    const reader = await FileReader.open({ path: this.#path, format, separator }, given)
    const onAbort = () => reader.interrupt()
    signal?.addEventListener('abort', onAbort)
    try {
      if (separator === undefined && isCsv(format)) refuseUnseparated(reader.columns)
      const { relation, columns } = await this.#provide(reader.columns)
      const present = columns.filter((column) => reader.columns.some(({ name }) => name === column.name))
      for await (const batch of reader.batches(present, onBadLine !== undefined)) {
        await this.#store(() => relation.appendBatch(batch), reader.share * this.#size)
      }
      await this.settled()
      if (onBadLine !== undefined) for (const problem of await reader.rejected()) onBadLine(problem)
    } catch (error) {
      throw signal?.aborted ? cancelled() : error
    } finally {
      signal?.removeEventListener('abort', onAbort)
      reader.close()
    }
  }

  async arrow(): Promise<void> {
    const path = this.#path
    if (this.#options.onBadLine !== undefined) {
      throw badRequest('Arrow has no lines of which bad ones could be skipped')
    }
    this.#size = (await ofArrow(path, () => stat(path))).size
    const { RecordBatchReader } = await loadArrow()
    const stream = createReadStream(path)
    const reader = await ofArrow(path, async () => {
      const opened = await (await RecordBatchReader.from(stream)).open()
      // Of a file that ends before it, the reader says nothing.
      if ((opened.schema as unknown) === undefined) throw new RangeError('there is no schema')
      return opened
    })
    const { relation } = await this.#provide(arrowDefinition(path, reader.schema).columns)
    for (;;) {
      const next = await ofArrow(path, () => reader.next())
      if (next.done === true) break
      await this.#store(() => relation.appendArrow(next.value), stream.bytesRead)
    }
    await this.settled()
  }

  /** The columns whose types are not to be inferred. */
  async #givenColumns(): Promise<readonly ColumnDefinition[]> {
    return (await this.#existing())?.columns ?? this.#options.columns ?? []
  }

  async #existing(): Promise<RelationInfo | undefined> {
    return (await this.#client.listRelations()).find(({ name }) => name === this.#options.relation)
  }

  /** The relation, made if it is not there, unless the file has what it would lose. */
  async #provide(
    found: readonly (ColumnDefinition & { readonly found?: string; readonly loses?: string })[],
  ): Promise<{ readonly relation: Relation; readonly columns: readonly ColumnDefinition[] }> {
    const { relation: name, columns: wanted = [] } = this.#options
    const existing = await this.#existing()
    const chosen = existing?.columns ?? wanted
    const others = found.filter((column) => chosen.every((own) => own.name !== column.name))
    const [foreign] = existing === undefined ? [] : others
    if (foreign !== undefined) {
      const names = chosen.map((column) => column.name).join(', ')
      throw badRequest(
        `relation ${JSON.stringify(name)} has no column ${JSON.stringify(foreign.name)}; its columns are ${names}`,
      )
    }
    for (const column of chosen) {
      if (column.nullable || found.some((own) => own.name === column.name)) continue
      throw badRequest(`the file has no column ${JSON.stringify(column.name)}, which must have values`)
    }
    refuseLosses(others)
    const unnamed = found.find((column) => !isName(column.name))
    if (unnamed !== undefined) {
      throw badRequest(`${JSON.stringify(unnamed.name)} is not a column name; name it in the file`)
    }
    const inferred = others.map(({ name, type, nullable }) => ({ name, type, nullable }))
    const columns = existing === undefined ? [...chosen, ...inferred] : existing.columns
    const differs = wanted.find((own) => columns.every((other) => !isSame(own, other)))
    if (differs !== undefined) {
      const message = `there is a relation ${JSON.stringify(name)} already, whose column ${JSON.stringify(differs.name)} is another`
      throw new WarpdexError('RELATION_EXISTS', message)
    }
    const relation = await this.#client.createRelation({ name, columns }, { ifNotExists: true })
    this.#made = existing === undefined
    return { relation, columns }
  }

  /** Begins with a batch once the one before it is stored, so that what is stored of a file are its first rows. */
  async #store(append: () => Promise<AppendedRows>, bytes: number): Promise<void> {
    await this.#pending
    const { signal, onProgress } = this.#options
    if (signal?.aborted) throw cancelled()
    this.#pending = append().then(({ rows }) => {
      this.rows += rows
      onProgress?.({ rows: this.rows, bytes, size: this.#size })
    })
    // Its failure is raised by whoever waits for it.
    this.#pending.catch(() => {})
  }

  /** Drops what this import made in vain, so that it may be tried again with other columns. */
  async dropIfEmpty(): Promise<void> {
    const { relation } = this.#options
    if (!this.#made || this.rows > 0) return
    const { rows } = await this.#client.relation(relation).stats()
    if (rows === 0) await this.#client.dropRelation(relation)
  }

  /** Waits for what is under way. */
  async settled(): Promise<void> {
    await this.#pending
  }
}

function refuseLosses(columns: readonly (ColumnDefinition & { found?: string; loses?: string })[]): void {
  const lossy = columns.filter(({ loses }) => loses !== undefined)
  if (lossy.length === 0) return
  const losses = lossy.map(
    ({ name, found, type, loses }) => `${JSON.stringify(name)} is ${found}, of which ${type} loses ${loses}`,
  )
  const choice = lossy.map(({ name, type }) => `${name}:${type}?`).join(',')
  throw badRequest(`${losses.join('; ')}. Choose the columns' types, such as ${choice}`)
}

function isSame(a: ColumnDefinition, b: ColumnDefinition): boolean {
  return a.name === b.name && a.type === b.type && a.nullable === b.nullable
}

function cancelled(): WarpdexError {
  return new WarpdexError('CANCELLED', 'the import was cancelled')
}

/** Reads of an Arrow file, whose errors are that it is none. */
async function ofArrow<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (thrown) {
    // Where bytes are missing or wrong, the reader comes upon values that are not there.
    const isBroken = thrown instanceof TypeError || thrown instanceof RangeError
    const reason = isBroken ? 'it ends early, or is damaged' : toWarpdexError(thrown).message
    throw badRequest(`${path} is not an Arrow file or stream: ${reason}`, { cause: thrown })
  }
}
