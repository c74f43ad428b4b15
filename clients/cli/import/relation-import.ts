import { extname } from 'node:path'
import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import { isName } from '../../../protocol/names.js'
import type { ColumnDefinition, RelationDefinition } from '../../../protocol/relation.js'
import type { RelationInput, RelationValue } from '../../../protocol/relation-values.js'
import { arrowDefinition, type Client } from '../../sdk/index.js'
import { cellValue, inferColumns } from './cells.js'
import { columnSpec } from './column-spec.js'
import { csvRecords, type FileRecord, jsonRecords } from './records.js'
import { openBytes, openText } from './text.js'

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
 * Appends the rows of a file to a relation, which is made where there is none.
 * @returns how many rows were appended
 * @throws WarpdexError that names the line that it is about, and says how many rows are stored
 */
export async function importRelation(client: Client, options: RelationImportOptions): Promise<number> {
  const format = options.format ?? FORMATS[extname(options.file).toLowerCase()]
  if (format === undefined) {
    const message = `${options.file} does not tell what it is; say --format ${FILE_FORMATS.join(', ')}`
    throw new WarpdexError('BAD_REQUEST', message)
  }
  const load = new Load(client, options)
  try {
    await (format === 'arrow' ? load.arrow() : load.text(format))
    return load.rows
  } catch (thrown) {
    const { code, message } = toWarpdexError(thrown)
    await load.settled().catch(() => {})
    const stored = load.rows === 0 ? '' : `; the first ${load.rows} rows are stored`
    throw new WarpdexError(code, `${message}${stored}`, { cause: thrown })
  }
}

class Load {
  readonly #client: Client
  readonly #options: RelationImportOptions
  /** The append that is under way. */
  #pending: Promise<void> | undefined
  /** Rows that are stored. */
  rows = 0

  constructor(client: Client, options: RelationImportOptions) {
    this.#client = client
    this.#options = options
  }

  async text(format: 'csv' | 'tsv' | 'ndjson'): Promise<void> {
    const { file, columns, onProgress } = this.#options
    const source = await openText(file)
    const all =
      format === 'ndjson'
        ? jsonRecords(source.pieces)
        : csvRecords(source.pieces, format === 'csv' ? ',' : '\t')
    const records = all[Symbol.asyncIterator]()
    const sample = await take(records, SAMPLE_RECORDS)
    if (sample.length === 0) throw new WarpdexError('BAD_REQUEST', `${file} has no records`)
    const definition = await this.#provide(() => columns ?? inferColumns(sample))
    let batch: FileRecord[] = []
    const append = async () => {
      const input = toInput(batch, definition, columns === undefined)
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
    const { file, onProgress } = this.#options
    const arrow = await import('apache-arrow')
    const source = await openBytes(file)
    const reader = await ofFile(file, async () => {
      const found = await arrow.RecordBatchReader.from(source.pieces)
      return found.open()
    })
    const { name } = await this.#provide(() => arrowDefinition(file, reader.schema).columns)
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
      throw new WarpdexError(
        'BAD_REQUEST',
        `${JSON.stringify(unnamed.name)} is no name of a column; name it in the file`,
      )
    }
    await this.#client.createRelation(definition, { ifNotExists: true })
    return definition
  }

  /** Begins with a batch once the one before it is stored, so that what is stored of a file are its first rows. */
  async #store(append: () => Promise<{ readonly rows: number }>): Promise<void> {
    await this.#pending
    this.#pending = append().then(({ rows }) => {
      this.rows += rows
    })
    // Its failure is raised by whoever waits for it.
    this.#pending.catch(() => {})
  }

  /** Waits for what is under way. */
  async settled(): Promise<void> {
    await this.#pending
  }
}

/** The values of records by column. */
function toInput(
  records: readonly FileRecord[],
  { name, columns }: RelationDefinition,
  isInferred: boolean,
): RelationInput {
  const known = new Set(columns.map((column) => column.name))
  const values = columns.map((column): [string, RelationValue[]] => [column.name, []])
  for (const record of records) {
    for (const cell of record.cells.keys()) {
      if (known.has(cell)) continue
      const message = `line ${record.line}: relation ${JSON.stringify(name)} has no column ${JSON.stringify(cell)}`
      throw new WarpdexError('BAD_REQUEST', `${message}; its columns are ${columnSpec(columns)}`)
    }
    columns.forEach((column, i) => {
      try {
        values[i][1].push(cellValue(record, column))
      } catch (thrown) {
        const { code, message } = toWarpdexError(thrown)
        const advice = isInferred
          ? `; the relation is ${columnSpec(columns)}, say --columns where it should be another`
          : ''
        throw new WarpdexError(code, `${message}${advice}`)
      }
    })
  }
  return Object.fromEntries(values)
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

/** Reads of an Arrow file, whose errors are that it is none. */
async function ofFile<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (thrown) {
    if (thrown instanceof WarpdexError) throw thrown
    const { message } = toWarpdexError(thrown)
    throw new WarpdexError('BAD_REQUEST', `${file} is no Arrow file or stream: ${message}`)
  }
}
