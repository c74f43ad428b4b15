import { extname } from 'node:path'
import type { Schema } from 'apache-arrow'
import { badRequest, type ErrorCode, toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import { isName } from '../../../protocol/names.js'
import type { ColumnDefinition, RelationDefinition } from '../../../protocol/relation.js'
import { arrowDefinition, type Client } from '../../sdk/index.js'
import { createOnce } from '../creating.js'
import { inferColumns } from './inference.js'
import { csvRecords, type FileRecord, jsonRecords } from './records.js'
import { relationInput } from './relation-input.js'
import { cancelled, type OnBadLine, openBytes, openText } from './text.js'

export const FILE_FORMATS = ['csv', 'tsv', 'ndjson', 'arrow'] as const
export type FileFormat = (typeof FILE_FORMATS)[number]

export interface RelationImportOptions {
  /** Path of the file; - for standard input. */
  readonly file: string
  readonly relation: string
  /** By default it is told by the end of the file's name. */
  readonly format: FileFormat | undefined
  /** Of the relation, should there be none; by default those that hold the first records of the file. */
  readonly columns: readonly ColumnDefinition[] | undefined
  /** Called with each line that cannot be read, to skip it; by default the first one ends the import. Arrow has no lines. */
  readonly onBadLine: OnBadLine | undefined
  /** Aborting it ends the import with `CANCELLED`, once the append that is under way is stored. */
  readonly signal: AbortSignal
  /** Told of the bytes that were read and the rows that are stored, and once at first how many bytes there are. */
  readonly onProgress: (read: number, size: number | undefined, rows: number) => void
}

/** Records that say what the columns are. */
const SAMPLE_RECORDS = 10_000
/** Rows that are appended at a time. */
const BATCH_ROWS = 65_536

const FORMATS: Readonly<Record<string, FileFormat>> = {
  '.csv': 'csv',
  '.tsv': 'tsv',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.json': 'ndjson',
  '.arrow': 'arrow',
  '.arrows': 'arrow',
  '.feather': 'arrow',
}

/**
 * Appends the rows of a file to a relation, which is made where there is none, and dropped again should none be stored.
 * @returns how many rows were appended
 * @throws WarpdexError that names the line that it is about, and says how many rows are stored
 */
export async function importRelation(client: Client, options: RelationImportOptions): Promise<number> {
  const format = options.format ?? FORMATS[extname(options.file).toLowerCase()]
  if (format === undefined) {
    const message = `${options.file} does not tell what it is; say --format ${FILE_FORMATS.join(', ')}`
    throw badRequest(message)
  }
  const load = new Load(client, options)
  try {
    await (format === 'arrow' ? load.arrow() : load.text(format))
    return load.rows
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

class Load {
  readonly #client: Client
  readonly #options: RelationImportOptions
  /** The append that is under way. */
  #pending: Promise<void> | undefined
  /** Whether this import made the relation. */
  #made = false
  /** Rows that are stored. */
  rows = 0

  constructor(client: Client, options: RelationImportOptions) {
    this.#client = client
    this.#options = options
  }

  async text(format: 'csv' | 'tsv' | 'ndjson'): Promise<void> {
    const { file, columns, onProgress, onBadLine = refuse, signal } = this.#options
    const source = await openText(file, signal)
    const all =
      format === 'ndjson'
        ? jsonRecords(source.pieces, onBadLine)
        : csvRecords(source.pieces, format === 'csv' ? ',' : '\t', onBadLine)
    const records = all[Symbol.asyncIterator]()
    const sample = await take(records, SAMPLE_RECORDS)
    if (sample.length === 0) throw badRequest(`${file} has no records`)
    const definition = await this.#provide(() => columns ?? inferColumns(sample))
    let batch: FileRecord[] = []
    const append = async () => {
      const input = relationInput(batch, definition, this.#made && columns === undefined, onBadLine)
      await this.#store(() => this.#client.relation(definition.name).append(input))
      onProgress(source.read(), source.size, this.rows)
      batch = []
    }
    for await (const record of chained(sample, records)) {
      batch.push(record)
      if (batch.length === BATCH_ROWS) await append()
    }
    if (batch.length > 0) await append()
    await this.settled()
  }

  async arrow(): Promise<void> {
    const { file, columns, onProgress, onBadLine, signal } = this.#options
    if (onBadLine !== undefined) {
      throw badRequest('Arrow has no lines of which bad ones could be skipped')
    }
    const arrow = await import('apache-arrow')
    const source = await openBytes(file, signal)
    const reader = await ofFile(file, async () => {
      const found = await arrow.RecordBatchReader.from(source.pieces)
      const opened = await found.open()
      // Of a file that ends before it, the reader says nothing.
      const schema: Schema | undefined = opened.schema
      if (schema === undefined) throw new RangeError('there is no schema')
      return opened
    })
    const { name } = await this.#provide(() => columns ?? arrowDefinition(file, reader.schema).columns)
    for (;;) {
      const next = await ofFile(file, () => reader.next())
      if (next.done === true) break
      await this.#store(() => this.#client.relation(name).appendArrow(next.value))
      onProgress(source.read(), source.size, this.rows)
    }
    await this.settled()
  }

  /** The relation, made if it is not there. */
  async #provide(columns: () => readonly ColumnDefinition[]): Promise<RelationDefinition> {
    const { relation: name, columns: wanted } = this.#options
    const existing = (await this.#client.listRelations()).find((relation) => relation.name === name)
    if (existing !== undefined && wanted === undefined) return existing
    const definition = { name, columns: columns() }
    const unnamed = definition.columns.find((column) => !isName(column.name))
    if (unnamed !== undefined) {
      throw badRequest(`${JSON.stringify(unnamed.name)} is no name of a column; name it in the file`)
    }
    this.#made = await createOnce((options) => this.#client.createRelation(definition, options))
    return definition
  }

  /** Begins with a batch once the one before it is stored, so that what is stored of a file are its first rows. */
  async #store(append: () => Promise<{ readonly rows: number }>): Promise<void> {
    await this.#pending
    if (this.#options.signal.aborted) throw cancelled()
    this.#pending = append().then(({ rows }) => {
      this.rows += rows
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

async function take<T>(from: AsyncIterator<T>, count: number): Promise<T[]> {
  const taken: T[] = []
  while (taken.length < count) {
    const next = await from.next()
    if (next.done === true) break
    taken.push(next.value)
  }
  return taken
}

async function* chained<T>(first: readonly T[], rest: AsyncGenerator<T>): AsyncGenerator<T> {
  yield* first
  yield* rest
}

function refuse(problem: WarpdexError): never {
  throw problem
}

/** Reads of an Arrow file, whose errors are that it is none. */
async function ofFile<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (thrown) {
    if (thrown instanceof WarpdexError) throw thrown
    // Where bytes are missing or wrong, the reader comes upon values that are not there.
    const isBroken = thrown instanceof TypeError || thrown instanceof RangeError
    const reason = isBroken ? 'it ends early, or is damaged' : toWarpdexError(thrown).message
    throw badRequest(`${file} is no Arrow file or stream: ${reason}`, { cause: thrown })
  }
}
