import { badRequest, toWarpdexError, type WarpdexError } from '../../../protocol/errors.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import type { RelationBatch } from '../../../protocol/relation-batch.js'
import { BatchBuilder } from './batch-builder.js'
import { type DuckDB, fileError, identifier, literal, openDuckDB } from './duckdb.js'
import { isCsv } from './file-formats.js'
import { converted, duckType, fileType, readType } from './file-types.js'

/** Files that DuckDB reads. */
export type TableFormat = 'csv' | 'tsv' | 'ndjson' | 'parquet'

export interface TableFile {
  readonly path: string
  readonly format: TableFormat
  /** What stands between columns of CSV; by default a comma, or a tab in TSV. */
  readonly separator?: string | undefined
}

/** A column of a file as DuckDB describes it. */
interface FoundColumn {
  readonly name: string
  readonly sql: string
}

/** What the dialect of a CSV file is: only what separates columns differs. */
const DIALECT = `header = true, quote = '"', escape = '"'`

/** Bytes of CSV that are read at a time; a thread takes a quarter of them, so that files of some megabytes are shared among threads. */
const BUFFER_BYTES = 8 * 2 ** 20

/** A file of rows, open to be read. */
export class FileReader {
  readonly #duckdb: DuckDB
  readonly #file: TableFile
  readonly #found: readonly FoundColumn[]

  private constructor(duckdb: DuckDB, file: TableFile, found: readonly FoundColumn[]) {
    this.#duckdb = duckdb
    this.#file = file
    this.#found = found
  }

  /**
   * Opens a file, and finds the types that hold all of its values.
   * @param given columns whose types are known: of CSV that has no others only the first lines are looked at
   * @throws WarpdexError `BAD_REQUEST` where it cannot be read, or DuckDB is not installed
   */
  static async open(file: TableFile, given: readonly ColumnDefinition[] = []): Promise<FileReader> {
    const duckdb = await openDuckDB()
    try {
      return new FileReader(duckdb, file, await findColumns(duckdb, file, given))
    } catch (error) {
      const reason = isCsv(file.format) ? await badLine(duckdb, file) : undefined
      duckdb.connection.closeSync()
      throw fileError(file.path, reason ?? error)
    }
  }

  /** The columns that hold what the file has, and what they would lose of it. */
  get columns(): readonly (ColumnDefinition & { readonly found: string; readonly loses?: string })[] {
    return this.#found.map(({ name, sql }) => ({ name, nullable: true, found: sql, ...fileType(sql) }))
  }

  /** The share of the file that was read, from 0 to 1. */
  get share(): number {
    return Math.max(0, this.#duckdb.connection.progress.percentage) / 100
  }

  /**
   * The rows, in order.
   * @param columns that the file has, of the types to be read
   * @param skipBad whether lines of CSV that cannot be read are passed over, see `rejected`
   * @throws WarpdexError `BAD_REQUEST` that names the line or row
   */
  async *batches(columns: readonly ColumnDefinition[], skipBad = false): AsyncGenerator<RelationBatch> {
    const { connection, bindings } = this.#duckdb
    const builder = new BatchBuilder(bindings, columns)
    try {
      const result = await connection.stream(this.#select(columns, skipBad))
      for (;;) {
        const chunk = await result.fetchChunk()
        if (chunk === null || chunk.rowCount === 0) break
        const full = builder.add(chunk)
        if (full !== undefined) yield full
      }
    } catch (error) {
      throw fileError(this.#file.path, (await this.#failedLine(columns, error)) ?? error)
    }
    const last = builder.end()
    if (last.rows > 0) yield last
  }

  /** What was wrong with the lines that were passed over. */
  async rejected(): Promise<WarpdexError[]> {
    const sql = 'select line, error_message from reject_errors order by line'
    const reader = await this.#duckdb.connection.runAndReadAll(sql)
    return reader.getRows().map(([line, message]) => badRequest(`line ${line}: ${message}`))
  }

  /** Ends what is being read. */
  interrupt(): void {
    this.#duckdb.connection.interrupt()
  }

  close(): void {
    this.#duckdb.connection.closeSync()
  }

  #select(columns: readonly ColumnDefinition[], skipBad: boolean): string {
    const isText = this.#file.format !== 'parquet'
    const typed = this.#typed(columns, ({ type }, sql) => (isText ? readType(type, sql, skipBad) : sql))
    const list = columns.map(({ name, type, nullable }) => {
      const found = typed.find((column) => column.name === name)
      // An empty cell of CSV is an empty text where it cannot be a missing one.
      const empty = type === 'string' && !nullable && isCsv(this.#file.format)
      const own = identifier(name)
      return converted(empty ? `coalesce(${own}, '')` : own, name, type, found?.sql ?? duckType(type).sql)
    })
    return `select ${list.join(', ')} from ${scanOf(this.#file, { typed, skipBad })}`
  }

  /** The columns of the file, those that are wanted of other types. */
  #typed(
    columns: readonly ColumnDefinition[],
    typeOf: (column: ColumnDefinition, found: string) => string,
  ): readonly FoundColumn[] {
    return this.#found.map(({ name, sql }) => {
      const column = columns.find((wanted) => wanted.name === name)
      return { name, sql: column === undefined ? sql : typeOf(column, sql) }
    })
  }

  /** Texts become numbers after DuckDB has read them, when it no longer knows their lines. Reading numbers at once finds the line of one that fails. */
  async #failedLine(columns: readonly ColumnDefinition[], error: unknown): Promise<unknown> {
    const { message } = toWarpdexError(error)
    if (this.#file.format === 'parquet' || !message.startsWith('Conversion Error: Could not'))
      return undefined
    const typed = this.#typed(columns, ({ type }) => duckType(type).sql)
    const list = columns.map(({ name }) => `count(${identifier(name)})`).join(', ')
    return failureOf(this.#duckdb, `select ${list} from ${scanOf(this.#file, { typed, skipBad: false })}`)
  }
}

async function findColumns(
  { connection }: DuckDB,
  file: TableFile,
  given: readonly ColumnDefinition[],
): Promise<readonly FoundColumn[]> {
  const describe = async (scan: string) => {
    const sql = `select column_name, column_type from (describe select * from ${scan})`
    const rows = (await connection.runAndReadAll(sql)).getRows()
    return rows.map(([name, type]) => ({ name: String(name), sql: String(type) }))
  }
  if (!isCsv(file.format) || given.length === 0) return describe(scanOf(file))
  const first = await describe(scanOf(file, 'first lines'))
  const isKnown = first.every(({ name }) => given.some((column) => column.name === name))
  if (!isKnown) return describe(scanOf(file))
  // What the first lines have, others may not; but a column of true and false has no numbers.
  return first.map(({ name, sql }) => ({ name, sql: sql === 'BOOLEAN' ? sql : 'VARCHAR' }))
}

async function failureOf({ connection }: DuckDB, sql: string): Promise<unknown> {
  try {
    await connection.run(sql)
  } catch (error) {
    return error
  }
  return undefined
}

function separatorOf({ format, separator }: TableFile): string {
  return separator ?? (format === 'tsv' ? '\t' : ',')
}

/** Where DuckDB cannot make out columns it names no line; it does where it is told of them. */
async function badLine(duckdb: DuckDB, file: TableFile): Promise<unknown> {
  const lines = `read_csv(${literal(file.path)}, auto_detect = false, header = false, delim = '\u0001', quote = '', columns = {'line': 'VARCHAR'})`
  try {
    const [row] = (await duckdb.connection.runAndReadAll(`select line from ${lines} limit 1`)).getRows()
    const heads = String(row?.[0]).split(separatorOf(file))
    const typed = heads.map((_, i) => ({ name: `column ${i + 1}`, sql: 'VARCHAR' }))
    return failureOf(duckdb, `select count(*) from ${scanOf(file, { typed, skipBad: false })}`)
  } catch (error) {
    return error
  }
}

/** A file as a table of DuckDB; without types all of it is looked at to find them, or what it begins with. */
function scanOf(
  table: TableFile,
  known:
    | 'all lines'
    | 'first lines'
    | { readonly typed: readonly FoundColumn[]; readonly skipBad: boolean } = 'all lines',
): string {
  const { format } = table
  const file = literal(table.path)
  if (format === 'parquet') return `read_parquet(${file})`
  const isTyped = typeof known === 'object'
  const columns = isTyped
    ? known.typed.map(({ name, sql }) => `${literal(name)}: ${literal(sql)}`).join(', ')
    : ''
  const sample = known === 'all lines' ? 'sample_size = -1' : 'sample_size = 20480'
  if (format === 'ndjson') {
    return `read_json(${file}, format = 'newline_delimited', ${isTyped ? `columns = {${columns}}` : sample})`
  }
  const separator = `delim = ${literal(separatorOf(table))}`
  // What is wrong with a line is told when it is read, by its number.
  const types = isTyped
    ? `auto_detect = false, buffer_size = ${BUFFER_BYTES}, columns = {${columns}}, store_rejects = ${known.skipBad}`
    : `${sample}, ignore_errors = true`
  return `read_csv(${file}, ${separator}, ${DIALECT}, ${types})`
}
