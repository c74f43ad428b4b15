import { badRequest, type WarpdexError } from '../../../protocol/errors.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import type { RelationBatch } from '../../../protocol/relation-batch.js'
import { BatchBuilder } from './batch-builder.js'
import { type DuckDB, fileError, identifier, literal, openDuckDB } from './duckdb.js'
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
   * @throws WarpdexError `BAD_REQUEST` where it cannot be read, or DuckDB is not installed
   */
  static async open(file: TableFile): Promise<FileReader> {
    const duckdb = await openDuckDB()
    try {
      const scan = scanOf(file)
      const { connection } = duckdb
      const reader = await connection.runAndReadAll(
        `select column_name, column_type from (describe select * from ${scan})`,
      )
      const found = reader.getRows().map(([name, sql]) => ({ name: String(name), sql: String(sql) }))
      return new FileReader(duckdb, file, found)
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
      throw fileError(this.#file.path, error)
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
    const typed = this.#found.map(({ name, sql }) => {
      const column = columns.find((wanted) => wanted.name === name)
      return {
        name,
        sql: this.#file.format === 'parquet' || column === undefined ? sql : readType(column.type, sql),
      }
    })
    const list = columns.map(({ name, type, nullable }) => {
      const found = typed.find((column) => column.name === name)
      // An empty cell of CSV is an empty text where it cannot be a missing one.
      const empty = type === 'string' && !nullable && isCsv(this.#file.format)
      const own = identifier(name)
      return converted(empty ? `coalesce(${own}, '')` : own, name, type, found?.sql ?? duckType(type).sql)
    })
    const from = scanOf(this.#file, { typed, skipBad })
    return `select ${list.join(', ')} from ${from}`
  }
}

function isCsv(format: TableFormat): boolean {
  return format === 'csv' || format === 'tsv'
}

function separatorOf({ format, separator }: TableFile): string {
  return separator ?? (format === 'tsv' ? '\t' : ',')
}

/** Where DuckDB cannot make out columns it names no line; it does where it is told of them. */
async function badLine({ connection }: DuckDB, file: TableFile): Promise<unknown> {
  const lines = `read_csv(${literal(file.path)}, auto_detect = false, header = false, delim = '\u0001', quote = '', columns = {'line': 'VARCHAR'})`
  try {
    const [row] = (await connection.runAndReadAll(`select line from ${lines} limit 1`)).getRows()
    const heads = String(row?.[0]).split(separatorOf(file))
    const typed = heads.map((_, i) => ({ name: `column ${i + 1}`, sql: 'VARCHAR' }))
    await connection.run(`select count(*) from ${scanOf(file, { typed, skipBad: false })}`)
  } catch (error) {
    return error
  }
  return undefined
}

/** A file as a table of DuckDB; without types all of it is looked at to find them. */
function scanOf(
  table: TableFile,
  known?: { readonly typed: readonly FoundColumn[]; readonly skipBad: boolean },
): string {
  const { format } = table
  const file = literal(table.path)
  if (format === 'parquet') return `read_parquet(${file})`
  const columns = known?.typed.map(({ name, sql }) => `${literal(name)}: ${literal(sql)}`).join(', ')
  if (format === 'ndjson') {
    const types = columns === undefined ? 'sample_size = -1' : `columns = {${columns}}`
    return `read_json(${file}, format = 'newline_delimited', ${types})`
  }
  const separator = `delim = ${literal(separatorOf(table))}`
  // What is wrong with a line is told when it is read, by its number.
  const types =
    columns === undefined
      ? 'sample_size = -1, ignore_errors = true'
      : `auto_detect = false, columns = {${columns}}, store_rejects = ${known?.skipBad ?? false}`
  return `read_csv(${file}, ${separator}, ${DIALECT}, ${types})`
}
