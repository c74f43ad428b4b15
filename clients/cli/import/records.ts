import { Readable } from 'node:stream'
import { CsvError, type InfoRecord, parse } from 'csv-parse'
import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import { lines } from './rows.js'

/** What one line of a file says: a text, or a value of JSON, for each column; undefined where it says nothing. */
export interface FileRecord {
  /** Counted from 1. */
  readonly line: number
  readonly cells: ReadonlyMap<string, unknown>
}

/**
 * The records of CSV whose first line names the columns. Cells are texts; an empty one says nothing.
 * @throws WarpdexError `BAD_REQUEST` that names the line
 */
export async function* csvRecords(
  pieces: AsyncIterable<string>,
  separator: string,
): AsyncGenerator<FileRecord> {
  const parser: AsyncIterable<{ readonly record: readonly string[]; readonly info: InfoRecord }> =
    Readable.from(pieces).pipe(
      parse({
        delimiter: separator,
        info: true,
        relax_column_count: true,
        skip_empty_lines: true,
        bom: true,
      }),
    )
  let heads: readonly string[] | undefined
  try {
    for await (const { record, info } of parser) {
      if (heads === undefined) {
        heads = distinct(record, info.lines)
        continue
      }
      if (record.length !== heads.length) {
        throw bad(`line ${info.lines}: it has ${record.length} columns; the first line names ${heads.length}`)
      }
      yield {
        line: info.lines,
        cells: new Map(heads.map((name, i) => [name, record[i] === '' ? undefined : record[i]])),
      }
    }
  } catch (error) {
    if (error instanceof CsvError) throw bad(`the file is no CSV: ${error.message}`)
    throw error
  }
}

/** Names of columns, of which none comes twice: the first one's cells would be lost. */
function distinct(heads: readonly string[], line: number): readonly string[] {
  const double = heads.find((name, i) => heads.indexOf(name) < i)
  if (double === undefined) return heads
  throw bad(`line ${line}: it names the column ${JSON.stringify(double)} twice`)
}

/**
 * The records of NDJSON, an object a line.
 * @throws WarpdexError `BAD_REQUEST` that names the line
 */
export async function* jsonRecords(pieces: AsyncIterable<string>): AsyncGenerator<FileRecord> {
  let line = 0
  for await (const text of lines(pieces)) {
    line++
    if (text.trim() === '') continue
    const value = parsed(text, line)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw bad(`line ${line}: it is no JSON object`)
    }
    yield { line, cells: new Map(Object.entries(value)) }
  }
}

function parsed(text: string, line: number): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    throw bad(`line ${line}: it is no JSON: ${toWarpdexError(thrown).message}`)
  }
}

function bad(message: string): WarpdexError {
  return new WarpdexError('BAD_REQUEST', message)
}
